package listening

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLastListenBeforeATime(t *testing.T) {
	t.Parallel()
	all := []*Columns{{Start: 1000, At: []uint32{0, 5, 5, 9}}, {Start: 2000}, {Start: 3000, At: []uint32{1}}}
	for before, want := range map[int64]int64{0: -1, 1000: -1, 1001: 1000, 1005: 1000, 1006: 1005, 2500: 1009,
		3001: 1009, 3002: 3001, 9000: 3001} {
		at, ok := LastBefore(all, time.Unix(before, 0))
		require.Equal(t, want >= 0, ok, before)
		if ok {
			require.Equal(t, want, at.Unix(), before)
		}
	}
	_, ok := LastBefore(nil, time.Unix(1, 0))
	require.False(t, ok)
}
