package corrections

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
	"reprise/web/ui/uitest"
)

func TestSuspiciousPageIsSound(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	listens := make([]library.StoredListen, 5)
	for i := range listens {
		listens[i] = library.StoredListen{ID: int64(i), Listen: library.Listen{PlayedAt: at,
			Track: library.Track{Title: uitest.Hostile, Artist: uitest.Hostile, Album: uitest.Hostile}}}
	}
	page := []library.Suspicion{
		{ID: "1-2-3", From: at, To: at.Add(42 * time.Second), Count: 2, Listens: listens[:2],
			Length: 200 * time.Second},
		{ID: "1-2-0", From: at, To: at.Add(41 * time.Second), Count: 1200, Listens: listens},
	}
	rows := make([][]music.Row, len(page))
	for i, v := range page {
		for _, l := range v.Listens {
			rows[i] = append(rows[i], music.Row{StoredListen: l,
				From: []ui.Origin{{Provider: "spotify", Name: uitest.Hostile}}})
		}
	}
	for n := range len(page) + 1 {
		uitest.Sound(t, func(l *words.Language) templ.Component {
			return suspiciousPage(suspiciousViewOf(words.With(t.Context(), l), page[:n], rows, n))
		})
	}
	ctx := words.With(t.Context(), words.German)
	html := uitest.HTML(t, words.German, suspiciousPage(suspiciousViewOf(ctx, page, rows, 1504)))
	require.Contains(t, html, "Derselbe Titel zweimal im Abstand von 41 s; er dauert 3:20.")
	require.Contains(t, html, "1.504 Wiedergaben, die es nicht gab")
	require.Contains(t, html, `action="/corrections/invented"`)
	require.Contains(t, html, "1.200 Wiedergaben in 40 s.")
	for _, part := range []string{"listen=1&amp;then=suspicious", "from=2026-11-22T14%3A05%3A00Z", "Zweite löschen",
		"Das stimmt so", "/corrections/suspicious/1-2-0/keep"} {
		require.Contains(t, html, part)
	}
}

func TestWhyListensAreSuspicious(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	for _, c := range []struct {
		count, seconds int
		length         time.Duration
		want           string
	}{
		{2, 41, 200 * time.Second, "The same track twice, 41 s apart; it lasts 3:20."},
		{2, 125, 200 * time.Second, "The same track twice, 2:05 apart; it lasts 3:20."},
		{2, 12, 0, "The same track twice, 12 s apart."},
		{2, 0, 200 * time.Second, "The same track twice in one second."},
		{12, 40, 0, "12 listens in 40 s."},
		{1200, 0, 0, "1,200 listens in one second."},
	} {
		v := library.Suspicion{From: at, To: at.Add(time.Duration(c.seconds+1) * time.Second), Count: c.count,
			Length: c.length}
		require.Equal(t, c.want, whySuspicious(ctx, v))
	}
	for n, want := range map[int]string{0: "Suspicious listens", 3: "Suspicious listens (3)"} {
		require.Equal(t, want, suspiciousLink(ctx, n, false).Label)
	}
	require.Equal(t, "Suspicious listens (more than 50)", suspiciousLink(ctx, 50, true).Label)
}
