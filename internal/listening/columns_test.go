package listening

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEarlierColumnsAreBuiltAgain(t *testing.T) {
	old := append(make([]byte, 8), 1, 7) // without players: the number of connections, and the first of them
	old = append(append(old, "spotify"...), make([]byte, 4)...)
	_, err := ParseColumns(old)
	require.Error(t, err)
	b := NewBuilder(0)
	b.Add(5, 1)
	b.From(Origin{"spotify", "Windows"})
	whole := b.Columns().Append(nil)
	_, err = ParseColumns(whole)
	require.NoError(t, err)
	for n := range whole {
		_, err := ParseColumns(whole[:n])
		require.Error(t, err, n)
	}
}

// Even with more players than there are numbers, the filter by source is exact.
func TestNoPlayersAreTooMany(t *testing.T) {
	b := NewBuilder(0)
	for i := range 70_000 {
		b.Add(int64(i), 1)
		b.From(Origin{"listenbrainz", "Player " + strconv.Itoa(i)})
		if i%2 == 0 {
			b.From(Origin{"lastfm", ""})
		}
	}
	c, err := ParseColumns(b.Columns().Append(nil))
	require.NoError(t, err)
	for _, test := range []struct {
		filter Filter
		want   int
	}{{Filter{Source: "listenbrainz"}, 70_000}, {Filter{Source: "lastfm"}, 35_000}, {Filter{Player: "Player 7"}, 1}} {
		n := 0
		NewPicker(test.filter, &Music{}, nil).Pick(c, false, func(int64, uint32) bool { n++; return true })
		require.Equal(t, test.want, n, "%+v", test.filter)
	}
}
