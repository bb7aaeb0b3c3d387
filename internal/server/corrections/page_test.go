package corrections

import (
	"net/url"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

// asIs calls connections by their ids.
func asIs(id library.ConnectionID) string { return string(id) }

func TestCorrectionsPageIsSound(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	page := []library.Correction{
		{ID: 3, Kind: library.Deleted, Listens: 1, Title: uitest.Hostile, Artist: uitest.Hostile, MadeAt: at},
		{ID: 2, Kind: library.Deleted, Listens: 2000, Artist: uitest.Hostile, MadeAt: at},
		{ID: 4, Kind: library.Added, Listens: 1, Title: uitest.Hostile, Artist: uitest.Hostile, MadeAt: at},
		{ID: 5, Kind: library.Apart, Listens: 2, Title: uitest.Hostile, Artist: uitest.Hostile, MadeAt: at},
		{ID: 6, Kind: library.Edited, Listens: 1, Title: uitest.Hostile, Artist: uitest.Hostile, MadeAt: at},
		{ID: 7, Kind: library.Edited, Listens: 1, Title: "A", Artist: "B", Becomes: uitest.Hostile, MadeAt: at},
		{ID: 1, Kind: library.Deleted, Listens: 7, MadeAt: at, UndoneAt: at.Add(time.Hour)},
		{ID: 8, Kind: library.Deleted, Listens: 7, MadeAt: at,
			There: []library.There{{Connection: uitest.Hostile, Listens: 7}}},
	}
	for n := range len(page) + 1 {
		uitest.Sound(t, func(l *words.Language) templ.Component {
			return correctionsPage(viewOf(words.With(t.Context(), l), page[:n], true, asIs))
		})
	}
	german := words.With(t.Context(), words.German)
	html := uitest.HTML(t, words.German, correctionsPage(viewOf(german, page, true, asIs)))
	require.Contains(t, html, "2.000 Wiedergaben gelöscht")
	require.Contains(t, html, "Rückgängig gemacht: ")
}

func TestDeletingSaysHowManyFirst(t *testing.T) {
	t.Parallel()
	for l, want := range map[*words.Language]string{words.English: "Delete 1,200 listens by",
		words.German: "1.200 Wiedergaben von"} {
		d := askDelete(words.With(t.Context(), l), 1200, uitest.Hostile, url.Values{"artist": {uitest.Hostile}}, nil)
		require.Contains(t, uitest.HTML(t, l, ui.Ask(d)), want)
		uitest.Sound(t, func(l *words.Language) templ.Component {
			query := url.Values{"artist": {uitest.Hostile}}
			d := askDelete(words.With(t.Context(), l), 3, uitest.Hostile, query, []holder{
				{ID: "listenbrainz", Name: uitest.Hostile, Listens: 2, Deletes: true},
				{ID: "spotify", Name: uitest.Hostile, Listens: 1}, {ID: "lastfm", Name: uitest.Hostile, Listens: 3,
					History: "https://www.last.fm/user/ann/library"}})
			d.Back = "/listens"
			return ui.Ask(d)
		})
	}
}

func TestAListenSaysWhyItIsOne(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	l := library.StoredListen{ID: 7, Listen: library.Listen{PlayedAt: at,
		Track: library.Track{Title: uitest.Hostile, Artist: uitest.Hostile, Album: uitest.Hostile}}}
	told := []library.Told{{Source: library.Source{Connection: "spotify"}, At: at},
		{Source: library.Source{Connection: "lastfm"}, At: at.Add(4 * time.Second)},
		{Source: library.Source{Connection: "navidrome"}, At: at.Add(3 * time.Minute)}}
	for n := range told {
		uitest.Sound(t, func(l2 *words.Language) templ.Component {
			return listenPage(listenViewOf(words.With(t.Context(), l2), l, told[:n+1], asIs, time.UTC))
		})
	}
	ctx := words.With(t.Context(), words.English)
	v := listenViewOf(ctx, l, told, asIs, time.UTC)
	require.Equal(t, "Split into 3 listens", v.Split.Label)
	html := uitest.HTML(t, words.English, listenPage(v))
	require.Contains(t, html, "lastfm reported the same title and artist 4 seconds after spotify.")
	require.Contains(t, html, "navidrome reported the same title and artist 3 minutes after spotify.")
	v = listenViewOf(ctx, l, told[:2], asIs, time.UTC)
	require.Equal(t, "Split into 2 listens", v.Split.Label)
	require.Nil(t, listenViewOf(ctx, l, told[:1], asIs, time.UTC).Split)
	uitest.Sound(t, func(l *words.Language) templ.Component {
		ctx := words.With(t.Context(), l)
		return newPage(words.T(ctx, "corrections.new"), newForm(ctx, library.Listen{PlayedAt: at}, time.UTC))
	})
}

// Only where a program can delete listens, a box offers it; elsewhere it is said, with the page if it is known.
func TestDeletingSaysWhatServicesCan(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	d := askDelete(ctx, 3, "", url.Values{"listen": {"1", "2", "3"}}, []holder{
		{ID: "listenbrainz-2", Name: "Second", Listens: 3, Deletes: true},
		{ID: "spotify", Name: "Spotify", Listens: 1},
		{ID: "lastfm", Name: "Last.fm", Listens: 2, History: "https://www.last.fm/user/ann/library"}})
	require.Equal(t, []ui.Field{{ID: "there-listenbrainz-2", Name: "there", Type: "checkbox", Value: "listenbrainz-2",
		Label: "Delete 3 listens at Second, too"}}, d.Boxes)
	html := uitest.HTML(t, words.English, ui.Ask(d))
	require.Contains(t, html, `value="listenbrainz-2"`)
	require.NotContains(t, html, "checked")
	require.Contains(t, html, "has no way for programs to delete listens. 1 listen stays there.")
	require.Contains(t, html, `<a href="https://www.last.fm/user/ann/library"`)
	require.Contains(t, html, "Undoing doesn&#39;t bring back what a service has deleted by then.")
	d = askDelete(ctx, 3, "", url.Values{"listen": {"1"}}, nil)
	html = uitest.HTML(t, words.English, ui.Ask(d))
	require.NotContains(t, html, "checkbox")
	require.NotContains(t, html, "service has deleted")
}

func TestACorrectionSaysWhatIsGoneThere(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	note := func(asked int, undone time.Time) string {
		c := library.Correction{ID: 1, Kind: library.Deleted, Listens: 60, MadeAt: at, UndoneAt: undone,
			There: []library.There{{Connection: "listenbrainz", Listens: 60, Asked: asked}}}
		return viewOf(ctx, []library.Correction{c}, true, asIs).Items[0].Note
	}
	require.Contains(t, note(0, time.Time{}), "60 listens will be deleted at listenbrainz, too.")
	require.Contains(t, note(10, time.Time{}),
		"Deleted at listenbrainz, too: 10 of 60. Undoing doesn't bring those back")
	require.Contains(t, note(10, at), "10 listens stay deleted at listenbrainz.")
	require.NotContains(t, note(0, at), "listenbrainz")
}
