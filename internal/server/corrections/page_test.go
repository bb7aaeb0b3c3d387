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
	}
	for n := range len(page) + 1 {
		uitest.Sound(t, func(l *words.Language) templ.Component {
			return correctionsPage(viewOf(words.With(t.Context(), l), page[:n], true))
		})
	}
	html := uitest.HTML(t, words.German, correctionsPage(viewOf(words.With(t.Context(), words.German), page, true)))
	require.Contains(t, html, "2.000 Wiedergaben gelöscht")
	require.Contains(t, html, "Rückgängig gemacht: ")
}

func TestDeletingSaysHowManyFirst(t *testing.T) {
	t.Parallel()
	for l, want := range map[*words.Language]string{words.English: "Delete 1,200 listens by",
		words.German: "1.200 Wiedergaben von"} {
		d := askDelete(words.With(t.Context(), l), 1200, uitest.Hostile, url.Values{"artist": {uitest.Hostile}})
		require.Contains(t, uitest.HTML(t, l, ui.Ask(d)), want)
		uitest.Sound(t, func(l *words.Language) templ.Component {
			d := askDelete(words.With(t.Context(), l), 3, uitest.Hostile, url.Values{"artist": {uitest.Hostile}})
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
	label := func(id library.ConnectionID) string { return string(id) }
	for n := range told {
		uitest.Sound(t, func(l2 *words.Language) templ.Component {
			return listenPage(listenViewOf(words.With(t.Context(), l2), l, told[:n+1], label, time.UTC))
		})
	}
	ctx := words.With(t.Context(), words.English)
	v := listenViewOf(ctx, l, told, label, time.UTC)
	require.Equal(t, "Keep all 3", v.Split.Label)
	html := uitest.HTML(t, words.English, listenPage(v))
	require.Contains(t, html, "lastfm reported the same title and artist 4 seconds after spotify.")
	require.Contains(t, html, "navidrome reported the same title and artist 3 minutes after spotify.")
	v = listenViewOf(ctx, l, told[:2], label, time.UTC)
	require.Equal(t, "Keep both", v.Split.Label)
	require.Nil(t, listenViewOf(ctx, l, told[:1], label, time.UTC).Split)
	uitest.Sound(t, func(l *words.Language) templ.Component {
		ctx := words.With(t.Context(), l)
		return newPage(words.T(ctx, "corrections.new"), newForm(ctx, at, time.UTC))
	})
}
