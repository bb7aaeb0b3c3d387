package music

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

func TestListensStandUnderTheirDays(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 11, 23, 0, 30, 0, 0, berlin)
	late := time.Date(2026, 11, 22, 23, 10, 0, 0, time.UTC) // after midnight in Berlin
	all := rows("Sigur Rós", late, late.Add(-time.Hour), late.Add(-2*time.Hour), late.AddDate(0, 0, -2),
		late.AddDate(-1, 0, 0))
	for l, want := range map[*words.Language][]string{
		words.English: {"Today", "1 listen", "Yesterday", "2 listens", "Saturday 21 November", "1 listen",
			"Sunday 23 November 2025", "1 listen"},
		words.German: {"Heute", "1 Wiedergabe", "Gestern", "2 Wiedergaben", "Samstag, 21. November", "1 Wiedergabe",
			"Sonntag, 23. November 2025", "1 Wiedergabe"},
	} {
		var got []string
		for _, d := range daysOf(words.With(t.Context(), l), all, now) {
			got = append(got, d.Title, d.Note)
		}
		require.Equal(t, want, got)
	}
}

func TestListensPageIsSound(t *testing.T) {
	t.Parallel()
	for _, f := range []found{{}, {Total: 1}, {Artist: uitest.Hostile, Some: true},
		{Artist: uitest.Hostile, Some: true, Then: true}, {Artist: uitest.Hostile, Some: true, Total: 1}} {
		uitest.Sound(t, func(l *words.Language) templ.Component {
			ctx := words.With(t.Context(), l)
			v := listensView{Title: words.T(ctx, "listens.title"), Artist: f.Artist, From: "2026-11-20"}
			if f.Total > 0 {
				v.Days = daysOf(ctx, rows(uitest.Hostile, time.Now()), time.Now())
			}
			v.heading(ctx, f)
			if f.Total > 0 {
				v.choose(ctx, f.Some, rows(uitest.Hostile, time.Now()), f.Total, url.Values{"artist": {uitest.Hostile}})
			}
			return listensList(v)
		})
	}
}

func TestAnEmptyFilterLeadsBackToAll(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.German)
	v := listensView{Artist: "Enya", From: "2026-11-20"}
	v.heading(ctx, found{Artist: "Enya", Some: true, Then: true})
	html := uitest.HTML(t, words.German, listensList(v))
	require.Contains(t, html, "Keine Wiedergaben von Enya in dieser Zeit.")
	require.Regexp(t, `href="/listens"[^>]*>Alle Wiedergaben`, html)
	require.Regexp(t, `name="artist" type="search" value="Enya"`, html)
	require.Regexp(t, `name="from" type="date" value="2026-11-20"`, html)
}

// The form takes a line until somebody uses it, and then the line says what is asked for.
func TestTheFilterIsFoldedAway(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		l    *words.Language
		v    listensView
		want string
	}{
		{words.English, listensView{}, "Filter"},
		{words.English, listensView{Artist: "Enya", From: "2026-11-20", To: "2026-11-22"},
			"Filter: Enya · from 20 November 2026 · to 22 November 2026"},
		{words.German, listensView{}, "Filtern"},
		{words.German, listensView{From: "2026-11-20"}, "Filter: ab 20. November 2026"},
	} {
		some := row.v.Artist+row.v.From != ""
		row.v.heading(words.With(t.Context(), row.l), found{Artist: row.v.Artist, Some: some, Total: 3})
		html := uitest.HTML(t, row.l, listensList(row.v))
		fold := regexp.MustCompile(`<details id="filter-fold"( open)?><summary>(.*?)</summary>`).
			FindStringSubmatch(html)
		require.Len(t, fold, 3, html)
		require.Equal(t, some, fold[1] != "")
		bare := regexp.MustCompile(`</?bdi>|[\x{2068}\x{2069}]`)
		require.Equal(t, row.want, strings.TrimSpace(bare.ReplaceAllString(fold[2], "")))
	}
}

func TestDaysOfAFilterAreWholeDays(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for name, want := range map[string]string{"from": "2026-10-24T22:00:00Z", "to": "2026-10-25T23:00:00Z"} {
		at, err := bound(name, "2026-10-25", berlin) // the clock goes back on that day
		require.NoError(t, err)
		require.Equal(t, want, at.Format(time.RFC3339))
		require.Equal(t, "2026-10-25", dayIn(name, "2026-10-25", berlin))
	}
	_, err = bound("from", "yesterday", berlin)
	require.Error(t, err)
}
