package players

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/events"
	"reprise/internal/library"
)

type announced []string

func (a *announced) Playing(_ int64, from library.ConnectionID, t library.Track) {
	*a = append(*a, string(from)+": "+t.Title)
}

// A server that is both read and a player says the same twice.
func TestWhatIsHeardTwiceIsOnePlay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told announced
		n := NewNow(&told, &events.Bus{})
		heard := func() (titles []string) {
			for _, p := range n.Of(1) {
				titles = append(titles, string(p.From)+": "+p.Track.Title)
			}
			return titles
		}
		joga, hunter := library.Track{Title: "Jóga", Artist: "Björk"}, library.Track{Title: "Hunter", Artist: "Björk"}
		n.begins(1, Playing{From: "player-1", Track: joga}, time.Minute)
		n.Begins(1, "navidrome", library.Playing{Track: joga, Left: time.Minute})
		require.Equal(t, []string{"player-1: Jóga"}, heard())
		n.Begins(1, "spotify", library.Playing{Track: hunter, Left: 3 * time.Minute})
		n.Begins(2, "spotify", library.Playing{Track: hunter})
		require.Equal(t, []string{"spotify: Hunter", "player-1: Jóga"}, heard())

		n.Begins(1, "spotify", library.Playing{Track: joga, Left: 3 * time.Minute})
		require.Equal(t, []string{"player-1: Jóga"}, heard(), "Spotify has gone on to what plays already")
		time.Sleep(2 * time.Minute)
		require.Empty(t, heard(), "it is over")
		n.Begins(1, "spotify", library.Playing{Track: hunter, Left: time.Hour})
		n.Ends(1, "navidrome", library.Track{})
		n.Ends(1, "spotify", joga)
		require.Len(t, heard(), 1, "something else plays there")
		n.Ends(1, "spotify", library.Track{})
		require.Empty(t, heard())
		n.Begins(1, "spotify", library.Playing{Track: library.Track{Title: "No artist"}})
		require.Empty(t, heard())
		require.Equal(t, announced{"player-1: Jóga", "spotify: Hunter", "spotify: Hunter", "spotify: Hunter"}, told)
	})
}
