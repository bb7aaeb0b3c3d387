package songs

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

// question is a question which of two songs it is, with an answer.
func question(answer string) SongQuestion {
	q := SongQuestion{ID: "1", Connection: "navidrome", Title: uitest.Hostile, Artist: uitest.Hostile,
		Album:      "Collected",
		DurationMS: 290_000, Answer: answer, URL: "/connections/navidrome/songs/1", Offered: []Song{
			{ID: "a", Title: "Angel", Artist: uitest.Hostile, Album: "Mezzanine", DurationMS: 379_000,
				Chosen: answer == "chosen"},
			{ID: "b", Title: "Angel", Artist: "Massive Attack"}}}
	if answer != "open" {
		q.AnsweredAt = core.Moment(time.Date(2026, 11, 20, 21, 4, 11, 0, time.UTC))
	}
	return q
}

func TestSongPagesAreSound(t *testing.T) {
	t.Parallel()
	all := []SongQuestion{question("open"), question("chosen"), question("none")}
	for i := range 4 {
		uitest.Sound(t, func(l *words.Language) templ.Component {
			ctx := words.With(t.Context(), l)
			if i == len(all) {
				return listSongs(listOf(ctx, uitest.Hostile, "/connections/navidrome", all))
			}
			return oneSong(pageOf(ctx, uitest.Hostile, all[i]))
		})
	}
}

func TestWhatCanBeAnswered(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.German)
	for answer, want := range map[string]struct {
		labels []string
		main   []bool // of the songs
		said   bool   // that it is none of them
	}{
		"open":   {[]string{"Keiner davon"}, []bool{true, true}, false},
		"chosen": {[]string{"Keiner davon", "Noch einmal suchen"}, []bool{false, true}, false},
		"none":   {[]string{"Keiner davon", "Noch einmal suchen"}, []bool{true, true}, true},
	} {
		v := pageOf(ctx, "Navidrome", question(answer))
		var labels []string
		for _, a := range v.Answers {
			labels = append(labels, a.Do.Label)
		}
		require.Equal(t, want.labels, labels, answer)
		require.Equal(t, want.main, []bool{v.Offered[0].Choose.Main, v.Offered[1].Choose.Main}, answer)
		require.Equal(t, want.said, v.Answers[0].Said != "", answer)
	}
}

func TestQuestionsAreOpenOrAnswered(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	v := listOf(ctx, "Navidrome", "/connections/navidrome", []SongQuestion{question("open"), question("chosen"),
		question("none")})
	require.Len(t, v.Open, 1)
	require.Equal(t, "2 songs could be it", v.Open[0].Note)
	require.Len(t, v.Answered, 2)
	require.Contains(t, v.Answered[0].Note, "You chose Angel by")
	require.Equal(t, "You chose none of the songs", v.Answered[1].Note)
	html := uitest.HTML(t, words.English, listSongs(listOf(ctx, "Navidrome", "/connections/navidrome", nil)))
	require.Contains(t, html, "Nothing to choose right now.")
}
