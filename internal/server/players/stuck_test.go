package players_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// reasons returns why requests of a player were refused, as its page says it.
func (p player) reasons() (all []string) {
	for _, r := range p.shown()["refused"].([]any) {
		all = append(all, r.(map[string]any)["reason"].(string))
	}
	return all
}

// A player that sends to a wrong path must not take a page of ours for success.
//
// Promise: What is sent to an address at which nothing answers is refused, and shown on the page of its player.
func TestAPlayThatGoesAstray(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		for _, path := range []string{"/listens", "/apis/listenbrainz/1/submit-listens", "/scrobble"} {
			code, _ := p.send(http.MethodPost, path, p.secret, single("Jóga", time.Now()))
			require.Equal(t, http.StatusNotFound, code, path)
		}
		require.Len(t, p.reasons(), 3)
		require.Contains(t, p.reasons()[0], "Nothing answers at that address")
		for _, token := range []string{"", "of nobody"} {
			r := httptest.NewRequest(http.MethodPost, "/scrobble", strings.NewReader("{}"))
			r.Host = "127.0.0.1"
			if token != "" {
				r.Header.Set("Authorization", "Token "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, http.StatusNotFound, w.Code)
		}
	})
}

// Who has another secret and forgets to enter it sees what the player sends with the old one.
func TestTheOldSecretIsNoticed(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now().Add(-time.Hour)))
		require.Equal(t, "active", p.shown()["state"])
		time.Sleep(time.Minute)
		fresh := h.Call(http.MethodPost, "/players/"+p.id+"/secret", "", http.StatusOK)["secret"].(string)
		require.Equal(t, "waiting", p.shown()["state"])
		code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Hunter", time.Now().Add(-time.Hour)))
		require.Equal(t, http.StatusUnauthorized, code)
		require.Contains(t, p.reasons()[0], "No player has the token")
		time.Sleep(time.Second)
		other := newPlayer(h, "any")
		require.Empty(t, other.reasons(), "it was before there was this player")
		p.send(http.MethodPost, "/1/submit-listens", fresh, single("Hunter", time.Now().Add(-time.Hour)))
		require.Equal(t, "active", p.shown()["state"])
		require.Empty(t, p.reasons())
	})
}

// Who waits for the first play sees what came meanwhile, and why it is none.
func TestWhatIsNoPlayIsSaidWhileSomebodyWaits(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "jellyfin")
		p.hook("jellyfin", `{}`)
		p.hook("jellyfin?user=bob", jellyfin("PlaybackStart", "one", 0))
		require.Len(t, p.reasons(), 2)
		require.Contains(t, p.reasons()[0], "Somebody else was listening")
		require.Contains(t, p.reasons()[1], "There was no music in it")
		p.hook("jellyfin", jellyfin("PlaybackStart", "one", 0))
		require.Contains(t, h.Page("/players/"+p.id), "heard half of it, or four minutes.")
		time.Sleep(2 * time.Minute)
		p.hook("jellyfin", jellyfin("PlaybackStop", "one", 2*time.Minute))
		require.Len(t, p.listens(), 1)
		p.hook("jellyfin", `{}`)
		require.Len(t, p.reasons(), 2, "a film is no news of a player that works")
	})
}

// The player's page says what could not be read: an empty body, no JSON, or JSON of another kind.
func TestWhatCouldNotBeReadIsToldApart(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "jellyfin")
		for body, want := range map[string]string{"": "The body is empty.", `{"a":]`: "the error is at byte 6",
			`[1]`: "not an object"} {
			code, _ := p.send(http.MethodPost, "/p/"+p.secret+"/jellyfin", "", body)
			require.Equal(t, http.StatusBadRequest, code, body)
			require.Contains(t, p.reasons()[0], want, body)
		}
	})
}

func TestMillisecondsAreNoWrongClock(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		at := time.Now().Add(-time.Hour)
		body := strings.Replace(single("Jóga", at), fmt.Sprint(at.Unix()), fmt.Sprint(at.UnixMilli()), 1)
		code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret, body)
		require.Equal(t, http.StatusOK, code)
		listen := h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"].([]any)[0].(map[string]any)
		require.Equal(t, at.UTC().Format("2006-01-02T15:04:05.000Z"), listen["played_at"])
	})
}
