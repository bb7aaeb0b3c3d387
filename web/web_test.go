package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountsInEnglish(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 listens", 1: "1 listen", 999: "999 listens", 1000: "1,000 listens",
		1234567: "1,234,567 listens"} {
		require.Equal(t, want, Count(n, "listen", "listens"))
	}
}

func TestEveryAssetExists(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"icon.svg", "app.css", "app.js"} {
		require.NotEmpty(t, Asset(name))
	}
	require.Panics(t, func() { Asset("nothing.css") })
}
