package loves_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// lover is somebody who loves music here, and at Last.fm, which can be told.
type lover struct{ *servertest.Household }

func newLover(t *testing.T) lover {
	t.Helper()
	h := servertest.New(t, delivery.Options{})
	p := *h.Registry.Get("lastfm")
	p.Streams = []string{library.Playlists, library.Loves}
	p.Takes.Loves = true
	h.Registry.Replace(&p)
	other := *h.Registry.Get("spotify")
	other.Streams = []string{library.Listens, library.Loves}
	h.Registry.Replace(&other)
	return lover{h}
}

func (l lover) say(titles ...string) {
	l.T.Helper()
	for i, title := range titles {
		require.NoError(l.T, l.DB.SaveLove(l.T.Context(), l.User, library.Love{Title: title, Artist: "Nina",
			Score: library.Loved, At: time.Now().Add(time.Duration(i) * time.Second)}))
	}
}

// read stores what Last.fm lists.
func (l lover) read(titles ...string) {
	l.T.Helper()
	var all []library.Love
	for _, title := range titles {
		all = append(all, library.Love{Title: title, Artist: "Nina", Score: library.Loved,
			At: time.Now().Add(-time.Hour)})
	}
	c, err := l.DB.Connection(l.T.Context(), l.User, "lastfm")
	require.NoError(l.T, err)
	_, _, err = l.DB.SaveLovesRead(l.T.Context(), c, all, time.Now(), false, true)
	require.NoError(l.T, err)
	require.NoError(l.T, l.DB.SaveSuccess(l.T.Context(), l.User, "lastfm", library.Loves, time.Now()))
}

func titles(answer map[string]any) (all []any) {
	for _, v := range answer["loves"].([]any) {
		all = append(all, v.(map[string]any)["track"])
	}
	return all
}

func TestLovedTracksAreFoundAgain(t *testing.T) {
	t.Parallel()
	l := newLover(t)
	page := l.Page("/loved")
	require.Contains(t, page, "No loved tracks yet.")
	require.NotContains(t, page, "Title or artist")
	l.read("Rain", "Snow")
	l.say("Hail", "Ökonomie")
	all := func(query string) []any { return titles(l.Call(http.MethodGet, "/loves"+query, "", http.StatusOK)) }
	require.Equal(t, []any{"Ökonomie", "Hail"}, all("")[:2])
	require.Len(t, all(""), 4)
	require.Equal(t, []any{"Ökonomie"}, all("?q=okonom"))
	require.Len(t, all("?q=nina"), 4)
	require.Empty(t, all("?q=nobody"))
	require.ElementsMatch(t, []any{"Rain", "Snow"}, all("?at=lastfm"))
	require.ElementsMatch(t, []any{"Hail", "Ökonomie"}, all("?not_at=lastfm"))
	require.Empty(t, all("?hated=true"))
	require.Len(t, all("?q=a&limit=1&page=2"), 1)
	page = l.Page("/loved?not_at=lastfm&q=hai")
	require.Contains(t, page, "Hail")
	require.NotContains(t, page, "Snow")
	require.Contains(t, l.Page("/loved?hated=yes"), "No such track.")
	require.NoError(t, l.DB.SaveLove(t.Context(), l.User, library.Love{Title: "Mud", Artist: "Nina",
		Score: library.Hated, At: time.Now()}))
	require.Contains(t, l.Page("/loved?hated=yes"), "1 track that you dislike.")
	require.Contains(t, l.Page("/loved"), "4 tracks, the latest first.")
}

func TestAServiceIsKeptTheSame(t *testing.T) {
	t.Parallel()
	l := newLover(t)
	l.read("Rain")
	l.say("Hail", "Sleet")
	services := l.Call(http.MethodGet, "/loves/services", "", http.StatusOK)["services"].([]any)
	require.Len(t, services, 2)
	one := services[0].(map[string]any)
	require.Equal(t, map[string]any{"connection": "lastfm", "name": "Last.fm", "reads": true, "takes": true,
		"kept": false, "loved": 1.0, "sending": 2.0, "refused": 0.0, "gone": 0.0, "note": "",
		"consent": nil, "read_at": one["read_at"]}, one)
	require.Equal(t, false, services[1].(map[string]any)["takes"], "Spotify is only read")
	require.Contains(t, l.Page("/loved"), "read only")
	page := l.Page("/loved/at/lastfm")
	require.Contains(t, page, "2 tracks would change there now")
	require.Contains(t, page, "You love 1 track at Last.fm.")

	l.Submit("/loved/at/lastfm/keep", http.StatusSeeOther)
	require.Contains(t, l.Page("/loved/at/lastfm"), "2 tracks are still to be sent.")
	require.Contains(t, l.Page("/loved"), "in sync, 2 tracks to go")
	require.Contains(t, l.Page("/deliveries?state=scheduled"), "Your loved tracks to Last.fm")
	all, err := l.DB.LovesToSend(t.Context(), l.User, "lastfm", false, 5)
	require.NoError(t, err)
	require.Len(t, all, 2)
	c, err := l.DB.Connection(t.Context(), l.User, "lastfm")
	require.NoError(t, err)
	require.NoError(t, l.DB.LoveSent(t.Context(), c, all[0], words.Text{}))
	require.NoError(t, l.DB.LoveSent(t.Context(), c, all[1], words.New("lastfm.track")))
	page = l.Page("/loved/at/lastfm")
	require.Contains(t, page, "Last.fm doesn&#39;t take 1 track")
	require.Contains(t, page, "Send again what it refused")
	said := l.Call(http.MethodGet, "/connections/lastfm/loves", "", http.StatusOK)
	require.Equal(t, []any{map[string]any{"track": "Sleet", "artist": "Nina",
		"reason": "Last.fm doesn't take this track."}}, said["not_taken"])
	require.EqualValues(t, 2, said["loved"])
	l.Call(http.MethodPut, "/connections/lastfm/loves", "", http.StatusNoContent)
	require.EqualValues(t, 1, l.Call(http.MethodGet, "/connections/lastfm/loves", "", http.StatusOK)["sending"],
		"what was refused is tried once more")

	l.Submit("/loved/at/lastfm/leave", http.StatusSeeOther)
	require.Contains(t, l.Page("/loved/at/lastfm"), "Keep in sync")
	l.Call(http.MethodDelete, "/connections/lastfm/loves", "", http.StatusNoContent)
	l.Call(http.MethodPut, "/connections/spotify/loves", "", http.StatusBadRequest)
	l.Call(http.MethodPut, "/connections/nobody/loves", "", http.StatusBadRequest)
	l.Call(http.MethodGet, "/connections/navidrome/loves", "", http.StatusNotFound)
	l.Call(http.MethodDelete, "/connections/navidrome/loves", "", http.StatusNotFound)
}

func TestAPersonDecidesAboutAnEmptiedList(t *testing.T) {
	t.Parallel()
	for decision, left := range map[string]int{"keep": 15, "follow": 0} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			l := newLover(t)
			var all []string
			for i := range 15 {
				all = append(all, fmt.Sprint("Song ", i))
			}
			l.read(all...)
			l.read()
			require.Contains(t, l.Page("/loved"), "15 tracks are missing there: decide")
			page := l.Page("/loved/at/lastfm")
			require.Contains(t, page, "Song 14")
			require.Contains(t, page, "Remove all 15 here as well")
			require.Len(t, l.Call(http.MethodGet, "/connections/lastfm/loves", "", http.StatusOK)["not_there"], 15)
			l.Call(http.MethodPost, "/connections/lastfm/loves/decide", `{"decision":"perhaps"}`,
				http.StatusUnprocessableEntity)
			if decision == "keep" {
				l.Call(http.MethodPost, "/connections/lastfm/loves/decide", `{"decision":"keep"}`, http.StatusNoContent)
			} else {
				l.Submit("/loved/at/lastfm/decide", http.StatusSeeOther, "decision", decision)
			}
			require.EqualValues(t, left, l.Call(http.MethodGet, "/loves", "", http.StatusOK)["total"])
			l.Call(http.MethodPost, "/connections/lastfm/loves/decide", `{"decision":"keep"}`, http.StatusNotFound)
			require.NotContains(t, l.Page("/loved"), "decide")
		})
	}
}

func TestListensSayWhatIsLoved(t *testing.T) {
	t.Parallel()
	l := newLover(t)
	l.Call(http.MethodPost, "/listens", `{"track":"Rain","artist":"Nina","played_at":"2024-05-01T12:00:00Z"}`,
		http.StatusCreated)
	require.NotContains(t, l.Page("/listens"), "♥")
	l.say("rain")
	require.Contains(t, l.Page("/listens"), `aria-label="Loved" title="Loved">♥`)
}
