package players

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/playrules"
)

type announced []string

func (*announced) RulesFor(int64) (*playrules.Set, error) { return nil, nil }

func (a *announced) Playing(_ int64, from library.ConnectionID, t library.Track, _ []library.ConnectionID) {
	*a = append(*a, string(from)+": "+t.Title)
}

// ruled is an announcer for a person with rules.
type ruled struct {
	rules []playrules.Rule
	err   error
	told  []string
}

func (r *ruled) RulesFor(int64) (*playrules.Set, error) {
	return playrules.New(r.rules, time.UTC), r.err
}

func (r *ruled) Playing(_ int64, _ library.ConnectionID, t library.Track, withheld []library.ConnectionID) {
	where := "[]"
	if slices.Contains(withheld, playrules.Everywhere) {
		where = "[everywhere]"
	}
	r.told = append(r.told, t.Title+" "+where)
}

func TestRulesHoldForWhatIsPlaying(t *testing.T) {
	t.Parallel()
	other := &ruled{rules: []playrules.Rule{
		{ID: 1, Name: "A", Kind: playrules.Rewrite, Field: "title", Title: " (Official Video)"},
		{ID: 2, Name: "B", Kind: playrules.Ignore, Title: "rain"},
		{ID: 3, Name: "C", Kind: playrules.Withhold, Player: "bedroom"},
	}}
	n := NewNow(other, &events.Bus{})
	clip := library.Track{Title: "Clip (Official Video)", Artist: "Nina"}
	n.Begins(1, "youtube", library.Playing{Track: clip, With: "Bedroom"})
	require.Equal(t, "Clip", n.Of(1)[0].Track.Title)
	require.False(t, n.Of(1)[0].Sent())
	n.Begins(1, "youtube", library.Playing{Track: clip, With: "Bedroom"})
	require.Len(t, n.Of(1), 1)
	n.Ends(1, "youtube", clip)
	require.Empty(t, n.Of(1), "it ends by the name that it began with")
	n.Begins(1, "youtube", library.Playing{Track: clip})
	n.Begins(1, "youtube", library.Playing{Track: library.Track{Title: "Rain", Artist: "Nina"}})
	require.Empty(t, n.Of(1), "what is no listen takes the place of what played")
	require.Equal(t, []string{"Clip [everywhere]", "Clip []"}, other.told)
	other.err = errors.New("the disk is broken")
	n.Begins(1, "youtube", library.Playing{Track: clip})
	require.Empty(t, n.Of(1))
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
