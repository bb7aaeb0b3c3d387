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
		n := Node{Member: NewMember(Server{}, newBook(), log), Log: log,
			Open: func(context.Context, func(context.Context, uint32) error) (Turn, error) {
				tries++
				return nil, &resilience.LocalError{}
			}}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		n.leadAgain(ctx)
		require.Equal(t, 3, tries)
	})
}
