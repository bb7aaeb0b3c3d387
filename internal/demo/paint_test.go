package demo

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryAlbumHasItsOwnCover(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, a := range theCatalog().albums {
		var drawn, again bytes.Buffer
		require.NoError(t, png.Encode(&drawn, paint(a.groupMBID(), 24, 24)))
		require.NoError(t, png.Encode(&again, paint(a.groupMBID(), 24, 24)))
		require.Equal(t, drawn.Bytes(), again.Bytes(), "always the same")
		require.Empty(t, seen[drawn.String()], "%s looks like %s", a.title, seen[drawn.String()])
		seen[drawn.String()] = a.title
	}
}
