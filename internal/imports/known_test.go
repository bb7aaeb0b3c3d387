package imports_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/imports"
	"reprise/internal/library"
)

func TestAConnectionThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []library.ConnectionID{"spotify-77", "spotify-2"} {
		_, err := b.Receive(t.Context(), b.user, sent(id, "a.zip", bytes.NewReader(export(t, 10))))
		refused, ok := errors.AsType[*imports.RefusedError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, `You don't have a connection "`+string(id)+`". Name one of yours, or just the `+
			"service: spotify.", refused.Error())
		require.NoDirExists(t, b.dir)
	}
	_, err := b.db.SaveConnection(t.Context(), library.Connection{User: b.user, ID: "spotify-2",
		CreatedAt: time.Now()})
	require.NoError(t, err)
	_, err = b.Receive(t.Context(), b.user, sent("spotify-2", "a.zip", bytes.NewReader(export(t, 10))))
	require.NoError(t, err)
}
