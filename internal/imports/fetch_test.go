package imports_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/imports"
)

// The server that has received a file is away when another one takes over, and comes back.
func TestAFileAtAnotherServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := b.Receive(t.Context(), b.user, sent("spotify", "my_spotify_data.zip", bytes.NewReader(export(t, 50))))
	require.NoError(t, err)
	elsewhere := filepath.Join(t.TempDir(), v.File)
	require.NoError(t, os.Rename(filepath.Join(b.dir, v.File), elsewhere))

	second := b.runner(b.db)
	second.FetchFrom(func(context.Context, string, func(io.Reader) error) error { return os.ErrNotExist })
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = second.Run(ctx) })
	watch := b.bus.Subscribe(b.user)
	for second.Trouble(v.ID).IsZero() {
		<-watch.C
	}
	watch.Close()
	require.Contains(t, second.Trouble(v.ID).String(), "on another of your servers")
	require.True(t, second.AnyTrouble().IsZero(), "this server does its work")
	stop()
	running.Wait()

	third := b.runner(b.db)
	third.FetchFrom(func(_ context.Context, name string, take func(io.Reader) error) error {
		f, err := os.Open(elsewhere)
		require.NoError(t, err)
		defer f.Close()
		require.Equal(t, v.File, name)
		return take(f)
	})
	require.Equal(t, imports.Done, b.finish(third).State)
	require.Equal(t, 50, b.count())
}
