package cluster

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// A database server that is away comes back at any moment: a server that wants to lead asks every two seconds.
func TestItLeadsSoonAfterTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		tries := 0
		n := Node{Member: newBook().joins(t, "1"), Log: log,
			Prepare: func(context.Context) error {
				tries++
				return &resilience.LocalError{}
			},
			Beside: func(ctx context.Context) (Turn, error) { return nil, &resilience.LocalError{} }}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		n.takeTurns(ctx)
		require.Equal(t, 3, tries)
	})
}
