package connections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRhythmInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Second: "second", 90 * time.Second: "90 seconds",
		time.Minute: "minute", 2 * time.Hour: "2 hours", 0: ""} {
		require.Equal(t, want, rhythm(d))
	}
}
