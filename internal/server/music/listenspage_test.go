package music

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/enrich"
	"reprise/internal/listening"
	"reprise/internal/words"
	"reprise/web/ui"
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
		for _, d := range daysOf(words.With(t.Context(), l), all, now, nil, 0) {
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
			v := listensView{Title: words.T(ctx, "listens.title"), From: "2026-11-20",
				Filters: []ui.Filter{{Label: ui.Named{Text: uitest.Hostile}, Without: "/listens"}},
				Sources: []ui.Option{{Label: "x"}}, Hidden: []ui.Hidden{{Name: "tag", Value: uitest.Hostile}}}
			if f.Total > 0 {
				v.Days = daysOf(ctx, rows(uitest.Hostile, time.Now()), time.Now(), nil, f.Total)
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
	v := listensView{From: "2026-11-20"}
	v.heading(ctx, found{Artist: "Enya", Some: true, Then: true})
	html := uitest.HTML(t, words.German, listensList(v))
	require.Contains(t, html, "Keine Wiedergaben von Enya in dieser Zeit.")
	require.Regexp(t, `href="/listens"[^>]*>Alle Wiedergaben`, html)
	require.Regexp(t, `name="from" type="date" value="2026-11-20"`, html)
}

// A day's total covers the whole day, even if the page shows a part of it, and a session is described at its end.
func TestDaysAndSessionsAreWhole(t *testing.T) {
	t.Parallel()
	music := (&listening.Music{}).With([]listening.Meaning{{Spelling: 1, Track: 1, Length: 5 * time.Minute}})
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	out := listening.NewOutline(music, time.UTC)
	minutes := []int{600, 605, 639, 675, 900} // the third begins 29 minutes after the end of the one before
	for _, m := range minutes {
		out.Add(day.Add(time.Duration(m)*time.Minute).Unix(), 1)
	}
	var times []time.Time
	for _, m := range []int{900, 675, 639, 605} {
		times = append(times, day.Add(time.Duration(m)*time.Minute))
	}
	ctx := words.With(t.Context(), words.English)
	days := daysOf(ctx, rows("Air", times...), day.AddDate(0, 0, 3), out, 9)
	require.Len(t, days, 1)
	require.Equal(t, "5 listens, 25 min", days[0].Note)
	var above []string
	for _, item := range days[0].Items {
		above = append(above, item.Above)
	}
	require.Equal(t, []string{"", "", "15 min, 3 songs", ""}, above)
	require.True(t, days[0].Items[1].Apart, "a session of one")
	require.False(t, days[0].Items[3].Apart)
	require.Equal(t, "1 h 12 min", Length(ctx, 72*time.Minute))

	days = daysOf(ctx, rows("Air", times...), day.AddDate(0, 0, 3), out, 5)
	require.Equal(t, "25 min", days[0].Note, "the page says how many there are in all")
}

// What the heading of a day says, the session that is all of it doesn't say again.
func TestASessionThatIsTheWholeDayIsNotSaidTwice(t *testing.T) {
	t.Parallel()
	music := (&listening.Music{}).With([]listening.Meaning{{Spelling: 1, Track: 1, Length: 5 * time.Minute}})
	day := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	out := listening.NewOutline(music, time.UTC)
	out.Add(day.Unix(), 1)
	out.Add(day.Add(5*time.Minute).Unix(), 1)
	ctx := words.With(t.Context(), words.English)
	days := daysOf(ctx, rows("Air", day.Add(5*time.Minute), day), day.AddDate(0, 0, 3), out, 9)
	require.Equal(t, "2 listens, 10 min", days[0].Note)
	require.Empty(t, days[0].Items[0].Above)
}

// Every artist of a listen is a link, in place if the text has the name.
func TestEveryCreditedArtistIsALink(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Massive Attack feat. Tricky": `1">Massive Attack</a> feat. <a href="/music/artist/2">Tricky</a>`,
		"Massive Attack":              `1">Massive Attack</a> · <a href="/music/artist/2">Tricky</a>`,
		"MASSIVE ATTACK":              `1">MASSIVE ATTACK</a> · <a href="/music/artist/2">Tricky</a>`,
	} {
		r := rows(text, time.Now())[0]
		r.Links = enrich.Links{Artist: 1, Credits: []enrich.Credit{{ID: 1, Name: "Massive Attack"},
			{ID: 2, Name: "Tricky"}}}
		ctx := words.With(t.Context(), words.English)
		html := uitest.HTML(t, words.English, ui.List("x", Items(ctx, []Row{r})))
		require.Contains(t, strings.NewReplacer("<bdi>", "", "</bdi>", "").Replace(html), want)
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
