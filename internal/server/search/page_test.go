package search

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

func TestAPageOfResultsSaysHowManyThereAre(t *testing.T) {
	t.Parallel()
	artist := library.Heard{ID: 7, Entity: library.Entity{Kind: library.KindArtist, Artist: uitest.Hostile}, Plays: 1,
		LastHeard: time.Date(2019, 5, 1, 0, 0, 0, 0, time.UTC)}
	page := func(q library.Search, n int) func(l *words.Language) templ.Component {
		return func(l *words.Language) templ.Component {
			ctx := words.With(t.Context(), l)
			p := pageFor(q)
			var all []ui.Item
			for range n {
				one := itemOf(ctx, artist, ui.Picture{})
				one.ID = ""
				all = append(all, one)
			}
			p.group(ctx, q, map[string][]ui.Item{library.KindArtist: all})
			return searchPage(p)
		}
	}
	for text, c := range map[string]struct {
		q library.Search
		n int
	}{
		"Type a few letters": {library.Search{Most: some}, 0},
		"Nothing found for":  {library.Search{Text: uitest.Hostile, Most: some}, 0},
		"2 results":          {library.Search{Text: "x", Most: some}, 2},
		"The 6 best results": {library.Search{Text: "x", Most: some}, some + 1},
		`href="/search?kind=artist&amp;q=%22+%2F%3F"`: {library.Search{Text: `" /?`, Most: some}, some + 1},
		`<a href="/search?q=x">All results</a>`:       {library.Search{Text: "x", Kind: "artist", Most: many}, 1},
		`<a href="/search?q=nobody">All results</a>`:  {library.Search{Text: "nobody", Kind: "artist", Most: many}, 0},
		`href="/music/artist/7"`:                      {library.Search{Text: "x", Most: some}, 1},
	} {
		uitest.Sound(t, page(c.q, c.n))
		require.Contains(t, uitest.HTML(t, words.English, page(c.q, c.n)(words.English)), text)
	}
}
