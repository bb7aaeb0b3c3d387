package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressSaysHowLongTheRestTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		tell := progress(&out)
		for done := range int64(1000) {
			tell(done, 1000)
			time.Sleep(time.Second)
		}
		tell(1000, 1000)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 100, "one in ten seconds")
		require.Equal(t, "1 %, about 17 minutes left", lines[0])
		require.Equal(t, " 50 %, about 8 minutes left", lines[49])
		require.Equal(t, " 99 %, less than a minute left", lines[98])
		require.Equal(t, "100 %", lines[99])
	})
}

func TestShortWorkSaysNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	tell := progress(&out)
	tell(0, 0)
	tell(0, 5)
	tell(5, 5)
	require.Empty(t, out.String())
	require.Equal(t, ", about 6 hours left", left(1, 7, time.Hour))
	require.Equal(t, ", about a minute left", left(1, 2, 80*time.Second))
}
