package digest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/words"
)

func TestTheLastFullWeekStartsOnMonday(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for now, want := range map[string][2]string{
		"2026-11-21T19:00:00+01:00": {"2026-11-09T00:00:00+01:00", "2026-11-16T00:00:00+01:00"},
		"2026-11-15T23:59:59+01:00": {"2026-11-02T00:00:00+01:00", "2026-11-09T00:00:00+01:00"},
		"2026-11-16T00:00:00+01:00": {"2026-11-09T00:00:00+01:00", "2026-11-16T00:00:00+01:00"},
		"2026-01-01T12:00:00+01:00": {"2025-12-22T00:00:00+01:00", "2025-12-29T00:00:00+01:00"},
		"2026-03-30T12:00:00+02:00": {"2026-03-23T00:00:00+01:00", "2026-03-30T00:00:00+02:00"}, // an hour less
		"2026-10-26T12:00:00+01:00": {"2026-10-19T00:00:00+02:00", "2026-10-26T00:00:00+01:00"}, // an hour more
	} {
		at, err := time.Parse(time.RFC3339, now)
		require.NoError(t, err)
		w := lastFull(at.In(berlin))
		require.Equal(t, want, [2]string{w.From.Format(time.RFC3339), w.To.Format(time.RFC3339)}, now)
		require.Equal(t, w.From.Format(time.DateOnly), w.Name())
		require.Equal(t, w.From, w.Before().To)
		require.Equal(t, lastFull(w.From), w.Before())
		again, err := named(w.Name(), berlin)
		require.NoError(t, err)
		require.Equal(t, w, again)
	}
}

func TestCosts(t *testing.T) {
	t.Parallel()
	c := providers.Completion{PromptTokens: 400, CompletionTokens: 100}
	require.Equal(t, Cost{Micros: 120, Currency: "EUR"}, prices{In: 0.15, Out: 0.6, Currency: "EUR"}.of(c))
	require.Equal(t, Cost{Currency: "EUR"}, prices{Currency: "EUR"}.of(c), "a price of zero is a known price")
	require.Zero(t, prices{}.of(c))
}

func TestAPromptIsBounded(t *testing.T) {
	t.Parallel()
	var all []Counted
	for i := range 100 {
		all = append(all, Counted{
			Artist: strings.Repeat("Å", 500),
			Title:  fmt.Sprint("A\nname\x00of ", i, strings.Repeat("!", 500)),
			Plays:  i,
		})
	}
	p := promptOf(Heard{Plays: 1_000_000, Artists: all, Albums: all, Tracks: all, New: all}, usual, words.English)
	require.Less(t, len(p.User), 16<<10)
	require.Equal(t, usual.Artists+usual.Albums+usual.Tracks+usual.New, strings.Count(p.User, "\n- "))
	require.Contains(t, p.User, "- A name of 7!")
	less := promptOf(Heard{Plays: 1, Artists: all, Albums: all, Tracks: all, New: all}, short, words.English)
	require.Less(t, len(less.User), len(p.User)/2)
	few := Heard{Plays: 3, Artists: []Counted{{Artist: "Nobody", Plays: 3}}, Tracks: []Counted{{"Nobody", "Rain", 3}}}
	require.Equal(t, "Plays in the week: 3\n\nArtists:\n- Nobody (3)\n\nTracks:\n- Rain – Nobody (3)\n",
		promptOf(few, usual, words.English).User)
}

func TestEveryLanguageCanBeAskedFor(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages() {
		require.Contains(t, promptOf(Heard{Plays: 1}, usual, l).System, ". "+words.New("digest.write_in").In(l)+" ")
	}
}
