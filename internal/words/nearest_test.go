package words

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"listen", "log.level", "sync.workers"}
	for name, want := range map[string]string{
		"listen":         "listen",
		"lisen":          "listen",
		"sync.worker":    "sync.workers",
		"loglevel":       "log.level",
		"x":              "",
		"":               "",
		"something else": "",
		"Hörer":          "",
	} {
		require.Equal(t, want, Nearest(name, names), name)
	}
}
