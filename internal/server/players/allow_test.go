package players_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// Promise: A player without the secret is let in by its person, once, as Last.fm's API has it.
func TestAPersonLetsAPlayerIn(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		stranger := player{Household: h}
		call := func(v url.Values) string {
			_, body := stranger.send(http.MethodPost, "/2.0/", "", v.Encode())
			return body
		}
		within := func(tag, body string) string {
			found := regexp.MustCompile("<" + tag + ">(.*)</" + tag + ">").FindStringSubmatch(body)
			require.NotNil(t, found, body)
			return found[1]
		}
		token := within("token", call(url.Values{"method": {"auth.getToken"}, "api_key": {"their own"}}))
		fetch := url.Values{"method": {"auth.getSession"}, "token": {token}}
		for range 50 { // it asks until somebody has decided
			require.Contains(t, call(fetch), `<error code="14">`)
		}

		w := h.Do(http.MethodGet, "/api/auth/?api_key=theirs&token="+token, "", "")
		require.Equal(t, http.StatusSeeOther, w.Code)
		page := h.Page(w.Header().Get("Location"))
		require.Contains(t, page, "Only allow this if you have just started it")
		servertest.Text(h.Submit("/players/allow", http.StatusOK, "token", token, "name", "Loud <room>"))
		key := within("key", call(fetch))
		require.Contains(t, call(fetch), `<error code="14">`, "a token opens once")
		require.Contains(t, call(url.Values{"method": {"track.scrobble"}, "sk": {key}, "artist": {"Björk"},
			"track": {"Jóga"}, "timestamp": {fmt.Sprint(time.Now().Unix())}}), `accepted="1"`)
		all := h.Call(http.MethodGet, "/players", "", http.StatusOK)["players"].([]any)
		require.Len(t, all, 1)
		require.Equal(t, "Loud <room>", all[0].(map[string]any)["name"])
		id := all[0].(map[string]any)["id"].(string)

		// A server leads its person here and back, and learns the token there.
		there := "https://music.example/lastfm/link?user=3"
		page = h.Page("/players/allow?" + url.Values{"api_key": {"theirs"}, "cb": {there}}.Encode())
		require.Contains(t, page, "music.example")
		page = servertest.Text(h.Submit("/players/allow", http.StatusOK, "cb", there, "player", id))
		onwards := regexp.MustCompile(`https://music\.example/lastfm/link\?token=(\w+)&amp;user=3`)
		link := onwards.FindStringSubmatch(page)
		require.NotNil(t, link, page)
		time.Sleep(61 * time.Minute)
		fetch.Set("token", link[1])
		require.Contains(t, call(fetch), `<error code="14">`, "after an hour")

		h.Submit("/players/allow", http.StatusOK, "token", "asked-for", "player", id)
		h.Call(http.MethodPost, "/players/"+id+"/secret", "", http.StatusOK)
		fetch.Set("token", "asked-for")
		require.Contains(t, call(fetch), `<error code="14">`, "a new secret closes what the old one had opened")

		for _, no := range []string{"", "?cb=javascript:alert(1)", "?token=", "?cb=x"} {
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/players/allow"+no, "", "").Code, no)
		}
	})
}
