package store

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsSentIsKeptInPieces(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	files := s.Files()
	const piece = 1 << 20
	for _, size := range []int{0, 1, piece - 1, piece, piece + 1, 3*piece + 5} {
		sent := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(sent)
		name, kept, err := files.Keep(t.Context(), user, iotest.HalfReader(bytes.NewReader(sent)))
		require.NoError(t, err)
		require.EqualValues(t, size, kept)
		f, err := files.Open(t.Context(), name)
		require.NoError(t, err)
		require.EqualValues(t, size, f.Size())
		require.NoError(t, iotest.TestReader(io.NewSectionReader(f, 0, f.Size()), sent))
		for range 20 { // as an archive is read
			from := rand.IntN(size + 1)
			got := make([]byte, rand.IntN(size-from+1))
			n, err := f.ReadAt(got, int64(from))
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent[from:from+n], got))
		}
		_, err = f.ReadAt(make([]byte, 1), int64(size))
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, f.Close())
		require.NoError(t, files.Remove(t.Context(), name))
		require.NoError(t, files.Remove(t.Context(), name), "it is gone")
		_, err = files.Open(t.Context(), name)
		require.ErrorIs(t, err, os.ErrNotExist)
	}

	broken := errors.New("the sender is gone")
	_, _, err := files.Keep(t.Context(), user, io.MultiReader(bytes.NewReader(make([]byte, 2*piece)),
		iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	var left int
	require.NoError(t, s.Reader.QueryRow("SELECT count(*) FROM upload_pieces").Scan(&left))
	require.Zero(t, left, "nothing stays of a file that wasn't sent to its end")
}

func TestLeftPiecesAreSwept(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	files := s.Files()
	keep := func() string {
		name, _, err := files.Keep(t.Context(), user, bytes.NewReader([]byte("what was sent")))
		require.NoError(t, err)
		return name
	}
	needed, left := keep(), keep()
	there := func(name string) bool {
		_, err := files.Open(t.Context(), name)
		return err == nil
	}
	require.NoError(t, files.Sweep(t.Context(), map[string]bool{needed: true}, time.Now()))
	require.True(t, there(left), "another server may be receiving it")
	require.NoError(t, files.Sweep(t.Context(), map[string]bool{needed: true}, time.Now().Add(2*time.Hour)))
	require.False(t, there(left))
	require.True(t, there(needed))
}
