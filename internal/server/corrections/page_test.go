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
		{ID: 1, Kind: library.Deleted, Listens: 7, MadeAt: at, UndoneAt: at.Add(time.Hour)},
	}
	for n := range len(page) + 1 {
		uitest.Sound(t, func(l *words.Language) templ.Component {
			return correctionsPage(viewOf(words.With(t.Context(), l), page[:n]))
		})
	}
	html := uitest.HTML(t, words.German, correctionsPage(viewOf(words.With(t.Context(), words.German), page)))
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
