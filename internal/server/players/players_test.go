package players_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/resilience"
	"reprise/internal/server/servertest"
)

// today runs a test in a bubble whose clock shows a time from which players send.
func today(t *testing.T, test func(*testing.T)) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// player is a program that sends, set up at a server.
type player struct {
	*servertest.Household
	id, secret string
}

func newPlayer(h *servertest.Household, kind string) player {
	made := h.Call(http.MethodPost, "/players", `{"name":"Kitchen `+kind+`","kind":"`+kind+`"}`, http.StatusCreated)
	return player{h, made["id"].(string), made["secret"].(string)}
}

// send sends a request as programs do: without cookies, to a name that no browser uses.
func (p player) send(method, path, token, body string) (int, string) {
	p.T.Helper()
	r := httptest.NewRequestWithContext(p.T.Context(), method, path, strings.NewReader(body))
	r.Host = "reprise:8420"
	if token != "" {
		r.Header.Set("Authorization", "Token "+token)
	}
	if strings.Contains(path, "2.0") && !strings.HasPrefix(path, "/1") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	require.Equal(p.T, "*", w.Header().Get("Access-Control-Allow-Origin"), path)
	require.Empty(p.T, w.Result().Cookies(), path)
	return w.Code, w.Body.String()
}

func (p player) listens() (titles []string) {
	p.T.Helper()
	for _, l := range p.Call(http.MethodGet, "/listens?source="+p.id, "", http.StatusOK)["listens"].([]any) {
		titles = append(titles, l.(map[string]any)["track"].(string))
	}
	return titles
}

func (p player) shown() map[string]any {
	p.T.Helper()
	return p.Call(http.MethodGet, "/players/"+p.id, "", http.StatusOK)
}

// view returns the player as the API shows it.
func (p player) view() map[string]any {
	return p.Call(http.MethodGet, "/players/"+p.id, "", http.StatusOK)
}

func single(title string, at time.Time) string {
	return fmt.Sprintf(`{"listen_type":"single","payload":[{"listened_at":%d,"track_metadata":{"artist_name":"Björk",
		"track_name":%q,"additional_info":{"submission_client":"navidrome","duration_ms":215000}}}]}`, at.Unix(), title)
}

// Promise: A player's plays are taken at its address as people type it, under its own path and at the root.
func TestAnAddressIsTakenAsItIsTyped(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		var want []string
		for _, root := range []string{"", "/p/" + p.secret} {
			for i, path := range []string{"/", "/1", "/1/", "/1/submit-listens", "/1/submit-listens/",
				"/1/1/submit-listens"} {
				title := fmt.Sprint("Song ", len(root), " ", i)
				token := p.secret
				if root != "" {
					token = ""
				}
				code, body := p.send(http.MethodPost, root+path, token, single(title, time.Now().Add(-time.Hour)))
				require.Equal(t, http.StatusOK, code, "%s: %s", path, body)
				require.JSONEq(t, `{"status":"ok"}`, body)
				want = append(want, title)
			}
		}
		require.ElementsMatch(t, want, p.listens())
		require.Equal(t, "active", p.shown()["state"])
		require.EqualValues(t, len(want), p.shown()["plays_today"])
	})
}

// Promise: An address with a path is found below that path and at the host's root.
func TestAPathOfTheAddressMayGetLost(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.BaseURL = "http://127.0.0.1:8420/reprise"
		h.Restart()
		p := newPlayer(h, "listenbrainz")
		for i, path := range []string{"/1/submit-listens", "/reprise/1/submit-listens", "/reprise/1//submit-listens"} {
			code, _ := p.send(http.MethodPost, path, p.secret, single(fmt.Sprint("Song ", i), time.Now()))
			require.Equal(t, http.StatusOK, code, path)
		}
		require.Len(t, p.listens(), 3)
	})
}

// Promise: A play that a player sends again is stored once, and answered like the first time.
func TestARepeatIsOnePlay(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		for range 3 {
			code, body := p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
			require.Equal(t, http.StatusOK, code)
			require.JSONEq(t, `{"status":"ok"}`, body)
		}
		require.Equal(t, []string{"Jóga"}, p.listens())
	})
}

// Promise: What can never be a play is refused with its reason, which the player's page shows.
func TestARefusedPlayIsShown(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		for body, why := range map[string]string{
			single("", time.Now()):                                                       "no title",
			single(" ", time.Now()):                                                      "no title",
			single("Jóga", time.Unix(0, 0)):                                              "before October 2002",
			single("Jóga", time.Now().Add(3*time.Hour)):                                  "more than an hour ahead",
			`{"listen_type":"single"`:                                                    "couldn't read",
			`{"listen_type":"single","payload":[]}`:                                      "couldn't read",
			`{"listen_type":"x","payload":[{}]}`:                                         "couldn't read",
			`{"listen_type":"single","payload":[` + strings.Repeat(" ", 20_000) + `{}]}`: "more at once",
		} {
			code, answer := p.send(http.MethodPost, "/1/submit-listens", p.secret, body)
			require.Equal(t, http.StatusBadRequest, code, body)
			require.Contains(t, answer, `"code":400`)
			refused := p.shown()["refused"].([]any)[0].(map[string]any)
			require.Contains(t, refused["reason"], why, body)
			require.Equal(t, "POST /1/submit-listens", refused["request"])
		}
		for path, want := range map[string]int{"/1/submit-listen": 404, "/p/" + p.secret + "/foo": 404} {
			code, _ := p.send(http.MethodPost, path, p.secret, "{}")
			require.Equal(t, want, code, path)
		}
		code, _ := p.send(http.MethodGet, "/1/submit-listens", p.secret, "")
		require.Equal(t, http.StatusMethodNotAllowed, code)
		page := h.Page("/players/" + p.id)
		require.Contains(t, page, "POST /foo")
		require.NotContains(t, page, p.secret)
		require.Empty(t, p.listens())
		const lead = "Requests that Reprise couldn&#39;t use:"
		require.Contains(t, page, lead)
		time.Sleep(time.Second)
		code, _ = p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Equal(t, http.StatusOK, code)
		page = h.Page("/players/" + p.id)
		require.NotContains(t, page, lead, "it works")
		require.Contains(t, page, "Requests that Reprise couldn&#39;t use before the last play")
		require.NotContains(t, h.Page("/players"), "couldn&#39;t use")
		shown := p.shown()
		require.GreaterOrEqual(t, shown["last_heard_at"], shown["last_play_at"], "each play is heard")
	})
}

// Promise: A player that sends too fast, or that is paused, gets 503 with a time to come back, and never 429.
func TestAPlayerIsNeverToldFourTwentyNine(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		h.Call(http.MethodPatch, "/players/"+p.id, `{"paused":true}`, http.StatusOK)
		code, body := p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, body, `"code":503`)
		code, body = p.send(http.MethodPost, "/2.0/", "", "method=track.scrobble&format=json&sk="+p.secret)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, body, `"error":11`)
		_, body = p.send(http.MethodGet, "/p/"+p.secret+"/?hs=true&p=1.2", "", "")
		require.True(t, strings.HasPrefix(body, "FAILED "), body)

		h.Call(http.MethodPatch, "/players/"+p.id, `{"paused":false}`, http.StatusOK)
		for code = http.StatusOK; code == http.StatusOK; {
			code, body = p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		}
		require.Equal(t, http.StatusServiceUnavailable, code, body)
		time.Sleep(time.Minute)
		code, _ = p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Hunter", time.Now()))
		require.Equal(t, http.StatusOK, code)
	})
}

// Promise: A secret that nobody has opens nothing, and its answer differs from that to a failure.
func TestAWrongSecretOpensNothing(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		code, body := p.send(http.MethodPost, "/1/submit-listens", "wrong", single("Jóga", time.Now()))
		require.Equal(t, http.StatusUnauthorized, code)
		require.JSONEq(t, `{"code":401,"error":"Invalid authorization token."}`, body)
		code, body = p.send(http.MethodPost, "/2.0/", "", "method=track.scrobble&sk=wrong")
		require.Equal(t, http.StatusForbidden, code)
		require.Contains(t, body, `<error code="9">`)
		code, body = p.send(http.MethodGet, "/?hs=true&p=1.2.1&u=Ann&t=1&a=wrong", "", "")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "BADAUTH\n", body)

		renewed := h.Call(http.MethodPost, "/players/"+p.id+"/secret", "", http.StatusOK)
		code, _ = p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Equal(t, http.StatusUnauthorized, code, "the old one")
		code, _ = p.send(http.MethodPost, "/1/submit-listens", renewed["secret"].(string), single("Jóga", time.Now()))
		require.Equal(t, http.StatusOK, code)
		h.Call(http.MethodDelete, "/players/"+p.id, "", http.StatusNoContent)
		code, _ = p.send(http.MethodPost, "/1/submit-listens", renewed["secret"].(string), single("Hunter", time.Now()))
		require.Equal(t, http.StatusUnauthorized, code)
		require.Equal(t, []string{"Jóga"}, p.listens(), "what it sent stays")
		require.Contains(t, h.Page("/listens"), "Jóga")
	})
}

// Promise: A database that cannot be read is no wrong secret: every protocol asks the player to come back.
func TestAFailureIsNoWrongSecret(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		require.NoError(t, h.DB.Reader.Close())
		code, body := p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Equal(t, http.StatusServiceUnavailable, code, body)
		_, body = p.send(http.MethodPost, "/2.0/", "", "method=track.scrobble&format=json&sk="+p.secret)
		require.Contains(t, body, `"error":11`)
		_, body = p.send(http.MethodGet, "/?hs=true&p=1.2&u=Ann&t=1&a=x", "", "")
		require.True(t, strings.HasPrefix(body, "FAILED "), body)
	})
}

func TestATokenIsValidated(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		valid := `{"code":200,"message":"Token valid.","valid":true,"user_name":"Ann","reprise_account":"` +
			h.DB.ForwardingAccount(h.User) + `"}`
		for _, ask := range []struct{ path, token, want string }{
			{"/1/validate-token", p.secret, valid},
			{"/1/validate-token?token=" + p.secret, "", valid},
			{"/1/validate-token", "wrong", `{"code":200,"message":"Token invalid.","valid":false}`},
			{"/1/validate-token", "", `{"code":400,"error":"You need to provide an Authorization token."}`},
		} {
			_, body := p.send(http.MethodGet, ask.path, ask.token, "")
			require.JSONEq(t, ask.want, body, ask.path)
		}
		code, _ := p.send(http.MethodOptions, "/1/submit-listens", "", "")
		require.Equal(t, http.StatusNoContent, code, "a browser asks first")
	})
}

func TestAPlayerReadsBackWhatItSent(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		began := time.Now().Add(-time.Hour)
		for i := range 3 {
			p.send(http.MethodPost, "/1/submit-listens", p.secret,
				single(fmt.Sprint("Song ", i), began.Add(time.Duration(i)*time.Minute)))
		}
		_, body := p.send(http.MethodGet, "/1/user/ann/listens?count=2", p.secret, "")
		var out struct {
			Payload struct {
				Count   int
				Listens []struct {
					ListenedAt int64          `json:"listened_at"`
					Metadata   map[string]any `json:"track_metadata"`
				}
				Oldest int64 `json:"oldest_listen_ts"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body), &out))
		require.Equal(t, 2, out.Payload.Count)
		require.Equal(t, "Song 2", out.Payload.Listens[0].Metadata["track_name"])
		require.Equal(t, began.Unix(), out.Payload.Oldest)
		_, body = p.send(http.MethodGet, "/1/user/Ann/listen-count", p.secret, "")
		require.JSONEq(t, `{"payload":{"count":3}}`, body)
		code, _ := p.send(http.MethodGet, "/1/user/Ben/listens", p.secret, "")
		require.Equal(t, http.StatusNotFound, code)
		_, body = p.send(http.MethodGet,
			"/2.0/?format=json&method=user.getRecentTracks&limit=2&page=2&sk="+p.secret, "", "")
		require.Contains(t, body, `"Song 0"`)
		require.NotContains(t, body, `"Song 1"`)
		require.Contains(t, body, `"totalPages":"2"`)
		_, body = p.send(http.MethodGet, "/2.0/?method=user.getInfo&sk="+p.secret, "", "")
		require.Contains(t, body, "<playcount>3</playcount>")
	})
}

func TestWhatAServicePlaysIsOnStatus(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NotContains(t, h.Page("/"), "<h2>Now playing")
		h.Config.Playing.Begins(h.User, "spotify", library.Playing{Track: library.Track{Title: "Jóga", Artist: "Björk"},
			With: "Kitchen", Left: time.Minute})
		page := h.Page("/")
		require.Contains(t, page, "<h2>Now playing")
		require.Contains(t, page, "Jóga – Björk")
		require.Contains(t, page, `href="/connections/spotify"`)
		now := h.Call(http.MethodGet, "/now-playing", "", http.StatusOK)["now_playing"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"spotify", "Spotify", "Kitchen"}, []any{now["player"], now["name"], now["played_with"]})
		time.Sleep(61 * time.Second)
		require.NotContains(t, h.Page("/"), "<h2>Now playing")
	})
}

// Promise: What is playing now is shown until it ends, and never stored.
func TestNowPlayingEnds(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		now := func() (titles []string) {
			for _, n := range h.Call(http.MethodGet, "/now-playing", "", http.StatusOK)["now_playing"].([]any) {
				titles = append(titles, n.(map[string]any)["track"].(string))
			}
			return titles
		}
		playing := func(title string) string {
			return `{"listen_type":"playing_now","payload":[{"track_metadata":{"artist_name":"Björk","track_name":"` +
				title + `","additional_info":{"duration_ms":180000}}}]}`
		}
		code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret, playing("Jóga"))
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, []string{"Jóga"}, now())
		require.Contains(t, h.Page("/players"), "Jóga")
		time.Sleep(2 * time.Minute)
		p.send(http.MethodPost, "/1/submit-listens", p.secret, playing("Jóga"))
		time.Sleep(61 * time.Second)
		require.Empty(t, now(), "the same again does not last longer")
		p.send(http.MethodPost, "/2.0/", "",
			"method=track.updateNowPlaying&artist=Bj%C3%B6rk&track=Hunter&sk="+p.secret)
		require.Equal(t, []string{"Hunter"}, now())
		_, body := p.send(http.MethodGet, "/1/user/Ann/playing-now", p.secret, "")
		require.Contains(t, body, "Hunter")
		p.send(http.MethodPost, "/1/playing-now/delete", p.secret, "{}")
		require.Empty(t, now())
		require.Empty(t, p.listens())
	})
}

// Promise: What comes from a server through a player is never sent back there.
func TestNothingGoesBackToItsServer(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, name := range []string{"lastfm", "listenbrainz"} {
			h.Call(http.MethodPut, "/connections/"+name+"/forwarding", `{"earlier":false}`, http.StatusOK)
		}
		time.Sleep(time.Minute)
		p := newPlayer(h, "any")
		h.Call(http.MethodPatch, "/players/"+p.id, `{"mirrors":"lastfm"}`, http.StatusOK)
		p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		to := map[string]bool{}
		for _, d := range h.Call(http.MethodGet, "/deliveries", "", http.StatusOK)["deliveries"].([]any) {
			to[d.(map[string]any)["provider"].(string)] = true
		}
		require.Equal(t, map[string]bool{"listenbrainz": true}, to)
	})
}

// Promise: A Navidrome that Reprise is connected to is recognised when it sends, unless its person says otherwise.
func TestNavidromeIsRecognised(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		body := single("Jóga", time.Now())
		theirs, chosen := newPlayer(h, "listenbrainz"), newPlayer(h, "any")
		h.Call(http.MethodPatch, "/players/"+chosen.id, `{"mirrors":"none"}`, http.StatusOK)
		for _, p := range []player{theirs, chosen} {
			code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret, body)
			require.Equal(t, http.StatusOK, code)
		}
		require.Equal(t, "navidrome", theirs.view()["mirrors"])
		require.Equal(t, "none", chosen.view()["mirrors"])
	})
}

// Promise: The start page shows players, what they play, and which are silent for longer than usual.
func TestPlayersAreOnTheStartPage(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NotContains(t, h.Page("/"), "glance-")
		p := newPlayer(h, "listenbrainz")
		require.Contains(t, h.Page("/"), `href="/players/`+p.id+`"`)
		for n := range 30 {
			code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret,
				single(fmt.Sprint("Song ", n), time.Now().Add(-time.Duration(n)*24*time.Hour)))
			require.Equal(t, http.StatusOK, code)
		}
		p.send(http.MethodPost, "/1/submit-listens", p.secret, `{"listen_type":"playing_now","payload":[
			{"track_metadata":{"artist_name":"Björk","track_name":"Hunter"}}]}`)
		require.Contains(t, h.Page("/"), "Hunter – Björk")
		require.Equal(t, false, p.view()["silent"])
		time.Sleep(4 * 24 * time.Hour)
		require.Equal(t, true, p.view()["silent"])
		page := h.Page("/")
		require.Contains(t, page, "Silent for longer than usual")
		require.NotContains(t, page, "Hunter – Björk", "what was playing days ago is over")
	})
}

// Promise: A player may send so many bytes at once, and then so many a second.
func TestAPlayerSendsNotMoreThanIsTaken(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "listenbrainz")
		listen := fmt.Sprintf(`{"listened_at":%d,"track_metadata":{"artist_name":"Björk","track_name":"Jóga",
			"additional_info":{"comment":%q}}}`, time.Now().Unix(), strings.Repeat("x", 10_000))
		all := strings.Repeat(listen+",", 103) + listen
		send := func() int {
			code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret,
				`{"listen_type":"import","payload":[`+all+`]}`)
			return code
		}
		taken := 0
		for send() == http.StatusOK {
			taken++
		}
		require.InDelta(t, 32, taken, 2, "32 MiB at once")
		require.Equal(t, http.StatusServiceUnavailable, send(), "never 429: Navidrome throws a play away then")
		time.Sleep(2 * time.Second)
		require.Equal(t, http.StatusOK, send())
	})
}

// Promise: When nothing comes from a player for longer than usual, its person gets one notification, until it plays
// again.
func TestASilentPlayerIsSaidOnce(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { _ = players.Watcher{Store: h.DB, Notifier: h.Notifier, Log: h.Log}.Run(ctx) })
		defer watching.Wait()
		defer stop()
		p := newPlayer(h, "listenbrainz")
		play := func(at time.Time) {
			code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", at))
			require.Equal(t, http.StatusOK, code)
		}
		for n := range 30 {
			play(time.Now().Add(-time.Duration(n) * 24 * time.Hour))
		}
		said := func() (titles []any) {
			all := h.Call(http.MethodGet, "/notifications", "", http.StatusOK)["notifications"].([]any)
			for _, n := range all {
				if n.(map[string]any)["resolved_at"] == nil {
					titles = append(titles, n.(map[string]any)["title"])
				}
			}
			return titles
		}
		time.Sleep(2 * 24 * time.Hour)
		require.Empty(t, said(), "a weekend is no silence")
		time.Sleep(10 * 24 * time.Hour)
		require.Equal(t, []any{"Kitchen listenbrainz is silent"}, said())
		require.Contains(t, h.Page("/notifications"), `href="/players/`+p.id+`"`)
		play(time.Now())
		time.Sleep(2 * time.Hour)
		require.Empty(t, said(), "it plays again")

		time.Sleep(40 * 24 * time.Hour)
		require.Len(t, said(), 1, "silent once more")
		synctest.Wait() // for the look of this hour
		h.Call(http.MethodDelete, "/players/"+p.id, "", http.StatusNoContent)
		require.Empty(t, said(), "nobody waits for a player that is gone")
		time.Sleep(2 * time.Hour)
		require.Empty(t, said(), "nor later")
	})
}

// Promise: What is playing is shown where a person's plays are forwarded to, once, and never where it comes from.
func TestWhatIsPlayingIsPassedOn(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, name := range []string{"lastfm", "listenbrainz"} {
			h.Call(http.MethodPut, "/connections/"+name+"/forwarding", `{"earlier":false}`, http.StatusOK)
		}
		p, theirs := newPlayer(h, "any"), newPlayer(h, "listenbrainz")
		h.Call(http.MethodPatch, "/players/"+theirs.id, `{"mirrors":"lastfm"}`, http.StatusOK)
		playing := func(p player, title string) {
			code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret, `{"listen_type":"playing_now","payload":[
				{"track_metadata":{"artist_name":"Björk","track_name":"`+title+`"}}]}`)
			require.Equal(t, http.StatusOK, code)
			h.Carry()
		}
		playing(p, "Jóga")
		playing(p, "Jóga")
		require.Equal(t, []string{"Jóga", "Jóga"}, h.Far.Shown, "once at each of the two")
		playing(theirs, "Hunter")
		require.Equal(t, []string{"Jóga", "Jóga", "Hunter"}, h.Far.Shown)
		require.Empty(t, h.Call(http.MethodGet, "/deliveries", "", http.StatusOK)["deliveries"])

		h.Far.Fail(&resilience.AnswerError{Endpoint: "POST /submit", Status: http.StatusServiceUnavailable})
		playing(p, "Unravel")
		h.Far.Fail(nil)
		time.Sleep(time.Hour)
		h.Carry()
		require.Len(t, h.Far.Shown, 3, "it isn't tried again")
		require.Empty(t, h.Call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"])
	})
}

// Promise: A player deletes what it has sent, and nothing else; it can be undone, and a repeat doesn't bring it back.
func TestAPlayerDeletesWhatItHasSent(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p, other := newPlayer(h, "listenbrainz"), newPlayer(h, "any")
		_, said := p.send(http.MethodPost, "/1/submit-listens?return_msid=true", p.secret, single("Jóga", time.Now()))
		var told struct {
			MSID string `json:"recording_msid"`
		}
		require.NoError(t, json.Unmarshal([]byte(said), &told))
		body := fmt.Sprintf(`{"listened_at":%d,"recording_msid":%q}`, time.Now().Unix(), told.MSID)
		for _, ask := range []struct {
			by   player
			body string
			code int
			left int
		}{{other, body, 200, 1}, {p, `{"listened_at":1}`, 400, 1}, {p, `[]`, 400, 1},
			{p, strings.Replace(body, told.MSID, "another", 1), 200, 1}, {p, body, 200, 0}, {p, body, 200, 0}} {
			code, said := ask.by.send(http.MethodPost, "/1/delete-listen", ask.by.secret, ask.body)
			require.Equal(t, ask.code, code, said)
			require.Len(t, p.listens(), ask.left, ask.body)
		}
		p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Empty(t, p.listens())
		made := h.Call(http.MethodGet, "/corrections", "", http.StatusOK)["corrections"].([]any)
		require.Len(t, made, 1)
		h.Call(http.MethodPost, "/corrections/"+made[0].(map[string]any)["id"].(string)+"/undo", "", http.StatusOK)
		require.Equal(t, []string{"Jóga"}, p.listens())
	})
}

// Promise: Who waits for a player's first play sees requests with a wrong token, and nobody sees the token.
func TestAWrongTokenIsSeenWhileAPlayerIsSetUp(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		for _, path := range []string{"/1/submit-listens", "/1/validate-token", "/p/mistyped/1/submit-listens"} {
			p.send(http.MethodPost, path, "mistyped", single("Jóga", time.Now()))
		}
		p.send(http.MethodPost, "/2.0/", "", "method=auth.getSession&token=soon")
		refused := p.view()["refused"].([]any)
		require.Len(t, refused, 3)
		require.Equal(t, "POST /1/submit-listens", refused[0].(map[string]any)["request"])
		page := h.Page("/players/" + p.id)
		require.Contains(t, page, "No player has the token that was sent")
		require.NotContains(t, page, "mistyped")
		time.Sleep(16 * time.Minute)
		require.Empty(t, p.view()["refused"])
		p.send(http.MethodPost, "/1/submit-listens", "mistyped", single("Jóga", time.Now()))
		p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Empty(t, p.view()["refused"], "it has had its first play")
	})
}

// Promise: Players of AudioScrobbler 1.2 prove their secret by an MD5 sum, and read exactly OK.
func TestAnOldPlayerSends(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "audioscrobbler")
		now := time.Now()
		stamp := fmt.Sprint(now.Unix())
		_, body := p.send(http.MethodGet, "/?"+url.Values{"hs": {"true"}, "p": {"1.2"}, "c": {"mdc"}, "u": {"ann"},
			"t": {stamp}, "a": {players.MD5(players.MD5(p.secret) + stamp)}}.Encode(), "", "")
		lines := strings.Split(body, "\n")
		require.Equal(t, []string{"OK", lines[1], "http://reprise:8420/np_1.2", "http://reprise:8420/protocol_1.2", ""},
			lines)
		submission := url.Values{"s": {lines[1]}, "a[0]": {"Björk"}, "t[0]": {"Jóga"}, "l[0]": {"305"}, "i[0]": {stamp},
			"o[0]": {"P"}, "r[0]": {""}, "b[0]": {"Homogenic"}, "n[0]": {"2"}, "m[0]": {""}, "a[1]": {"Björk"},
			"t[1]": {"Hunter"}, "i[1]": {"17"}}
		_, body = p.send(http.MethodPost, "/protocol_1.2", "", submission.Encode())
		require.Equal(t, "OK\n", body)
		require.Equal(t, []string{"Jóga"}, p.listens())
		require.Len(t, p.shown()["refused"], 1, "the other one's clock was never set")
		submission.Set("s", "gone")
		_, body = p.send(http.MethodPost, "/protocol_1.2", "", submission.Encode())
		require.Equal(t, "BADSESSION\n", body)
		_, body = p.send(http.MethodPost, "/np_1.2", "",
			url.Values{"s": {lines[1]}, "a": {"Björk"}, "t": {"Jóga"}}.Encode())
		require.Equal(t, "OK\n", body)
		require.Len(t, h.Call(http.MethodGet, "/now-playing", "", http.StatusOK)["now_playing"], 1)
	})
}

// Promise: Players of Last.fm's API sign in with their secret, by itself or by MD5 sums, and get its answers in XML and
// JSON.
func TestAPlayerOfLastFMSends(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "lastfm")
		call := func(values url.Values) (int, string) { return p.send(http.MethodPost, "/2.0/", "", values.Encode()) }
		key := ""
		for _, login := range []url.Values{
			{"username": {"Ann"}, "password": {p.secret}},
			{"username": {"Ann"}, "authToken": {players.MD5("Ann" + players.MD5(p.secret))}},
		} {
			login.Set("method", "auth.getMobileSession")
			login.Set("api_key", "their own")
			_, body := call(login)
			_, rest, _ := strings.Cut(body, "<key>")
			key, _, _ = strings.Cut(rest, "</key>")
			require.Len(t, key, 32, body)
			require.Contains(t, body, `<lfm status="ok"><session><name>Ann</name>`)
		}
		stamp := fmt.Sprint(time.Now().Unix())
		one := url.Values{"method": {"track.scrobble"}, "sk": {key}, "artist": {"Björk"}, "track": {"Jóga"},
			"timestamp": {stamp}}
		_, body := call(one)
		require.Contains(t, body, `<scrobbles accepted="1" ignored="0"><scrobble><track corrected="0">Jóga</track>`)
		require.Contains(t, body, `<ignoredMessage code="0"></ignoredMessage>`)
		_, body = call(url.Values{"method": {"Track.Scrobble"}, "format": {"json"}, "sk": {key}, "artist[0]": {"Björk"},
			"track[0]": {"Hunter"}, "timestamp[0]": {stamp}, "artist[1]": {"Björk"}, "track[1]": {"Bachelorette"},
			"timestamp[1]": {"1"}})
		require.Contains(t, body, `"@attr":{"accepted":1,"ignored":1}`)
		require.Contains(t, body, `"ignoredMessage":{"code":"3"`)
		require.ElementsMatch(t, []string{"Jóga", "Hunter"}, p.listens())
		code, body := call(url.Values{"method": {"track.dance"}, "sk": {key}})
		require.Equal(t, http.StatusBadRequest, code)
		require.Contains(t, body, `<lfm status="failed"><error code="3">`)
	})
}

// Promise: What a person loves in a player is loved in Reprise, and the other way round.
func TestTracksAreLovedInPlayers(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		session := url.Values{"method": {"auth.getMobileSession"}, "username": {"Ann"}, "password": {p.secret},
			"api_key": {"their own"}, "format": {"json"}}
		_, body := p.send(http.MethodPost, "/2.0/", "", session.Encode())
		_, rest, _ := strings.Cut(body, `"key":"`)
		key, _, _ := strings.Cut(rest, `"`)
		lastFM := func(method string, more ...string) string {
			v := url.Values{"method": {method}, "sk": {key}, "format": {"json"}}
			for pair := range slices.Chunk(more, 2) {
				v.Set(pair[0], pair[1])
			}
			_, body := p.send(http.MethodPost, "/2.0/", "", v.Encode())
			return body
		}
		loved := func() (titles []string) {
			for _, l := range h.Call(http.MethodGet, "/loves", "", http.StatusOK)["loves"].([]any) {
				titles = append(titles, l.(map[string]any)["track"].(string))
			}
			return titles
		}
		for n, title := range []string{"Jóga", "Hunter"} {
			code, _ := p.send(http.MethodPost, "/1/submit-listens", p.secret,
				single(title, time.Now().Add(-time.Duration(n)*time.Hour)))
			require.Equal(t, http.StatusOK, code)
		}

		require.JSONEq(t, "{}", lastFM("track.love", "artist", "Björk", "track", "Jóga"))
		require.JSONEq(t, "{}", lastFM("track.love", "artist", "BJÖRK", "track", "joga"), "the same track")
		require.Equal(t, []string{"Jóga"}, loved())
		require.Contains(t, lastFM("user.getLovedTracks", "user", "Ann"), `"total":"1"`)
		require.Contains(t, lastFM("track.love", "artist", "Björk"), `"error":6`)

		time.Sleep(time.Minute)
		_, page := p.send(http.MethodGet, "/1/user/Ann/listens", p.secret, "")
		var listens struct {
			Payload struct {
				Listens []struct {
					MSID string `json:"recording_msid"`
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(page), &listens))
		feedback := func(body string) int {
			code, _ := p.send(http.MethodPost, "/1/feedback/recording-feedback", p.secret, body)
			return code
		}
		require.Equal(t, http.StatusOK, feedback(fmt.Sprintf(`{"recording_msid":%q,"score":1}`,
			listens.Payload.Listens[1].MSID)))
		require.Equal(t, []string{"Hunter", "Jóga"}, loved())
		require.Equal(t, http.StatusOK, feedback(`{"recording_mbid":"9c7d0e33-1f5b-4a2f-8a5b-9d6f3f4c7e11","score":1}`))
		require.Contains(t, h.Page("/players/"+p.id), "by a MusicBrainz ID that none of your listens has")
		require.Equal(t, []string{"Hunter", "Jóga"}, loved())
		for _, wrong := range []string{`{"recording_msid":"x"}`, `{"score":1}`,
			`{"recording_msid":"x","score":2}`, `[`} {
			require.Equal(t, http.StatusBadRequest, feedback(wrong), wrong)
		}
		_, page = p.send(http.MethodGet, "/1/feedback/user/Ann/get-feedback?score=1", p.secret, "")
		require.Contains(t, page, `"total_count":2`)

		tracks := h.Call(http.MethodGet, "/search?q=hunter", "", http.StatusOK)["tracks"].([]any)
		id := tracks[0].(map[string]any)["id"].(string)
		require.Contains(t, h.Page("/music/track/"+id), "Remove from loved tracks")
		h.Call(http.MethodDelete, "/tracks/"+id+"/love", "", http.StatusNoContent)
		require.Equal(t, []string{"Jóga"}, loved())
		h.Call(http.MethodPut, "/tracks/"+id+"/love", "", http.StatusNoContent)
		require.Contains(t, h.Page("/loved"), "Hunter")
		require.JSONEq(t, "{}", lastFM("track.unlove", "artist", "Björk", "track", "Hunter"))
		require.Equal(t, []string{"Jóga"}, loved())
		_, page = p.send(http.MethodGet, "/1/latest-import?user_name=Ann", p.secret, "")
		require.Contains(t, page, fmt.Sprintf(`"latest_import":%d`, time.Now().Add(-time.Minute).Unix()))
	})
}

// Promise: A signature is checked where Reprise gave the key out.
func TestASignatureIsChecked(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		made := h.Call(http.MethodPost, "/players", `{"name":"Phone","kind":"lastfm"}`, http.StatusCreated)
		p := player{h, made["id"].(string), made["secret"].(string)}
		key, secret := made["api_key"].(string), made["api_secret"].(string)
		stamp := fmt.Sprint(time.Now().Unix())
		sign := func(secret string) string {
			return players.MD5("api_key" + key + "artistBjörkmethodtrack.scrobblesk" + p.secret + "timestamp" + stamp +
				"trackJóga" + secret)
		}
		values := url.Values{"method": {"track.scrobble"}, "api_key": {key}, "sk": {p.secret}, "artist": {"Björk"},
			"track": {"Jóga"}, "timestamp": {stamp}, "api_sig": {sign("wrong")}, "format": {"json"}}
		_, body := p.send(http.MethodPost, "/2.0/", "", values.Encode())
		require.Contains(t, body, `"error":13`)
		require.Empty(t, p.listens())
		values.Set("api_sig", sign(secret))
		_, body = p.send(http.MethodPost, "/2.0/", "", values.Encode())
		require.Contains(t, body, `"accepted":1`)
	})
}

func TestAPlayerIsSetUpOnPages(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/players"), "No player sends to Reprise yet.")
		require.Contains(t, h.Page("/players/add"), "Web Scrobbler")
		require.Contains(t, h.Page("/players/add?for=navidrome"), `value="Navidrome"`)
		to := h.Submit("/players", http.StatusSeeOther, "name", "Attic", "for", "navidrome", "mirrors",
			"navidrome").Header().Get("Location")
		made := h.Page(to)
		require.Equal(t, made, h.Page(to), "a reload repeats nothing")
		require.Contains(t, made, "ND_LISTENBRAINZ_BASEURL")
		require.Contains(t, made, "http://127.0.0.1:8420/1/")
		require.Contains(t, made, "Waiting for the first play")
		_, rest, _ := strings.Cut(made, `id="player-token">`)
		secret, _, _ := strings.Cut(rest, "<")
		p := player{h, string(library.NewConnectionID(library.PlayerProvider, 1)), secret}
		p.send(http.MethodPost, "/1/submit-listens", secret, single("Jóga", time.Now()))
		require.NotContains(t, h.Page("/players"), "Waiting for the first play")
		require.Contains(t, h.Page("/players/"+p.id), "1 play")
		require.NotContains(t, h.Page("/players/"+p.id), "Last heard from", "that was when it played last")
		require.Contains(t, h.Page("/listens"), "Attic")

		w := h.Submit("/players", http.StatusConflict, "name", "Attic", "for", "any")
		require.Contains(t, w.Body.String(), "Choose another name.")
		h.Submit("/players/"+p.id, http.StatusSeeOther, "name", "Cellar", "mirrors", "")
		h.Submit("/players/"+p.id+"/pause", http.StatusSeeOther)
		require.Contains(t, h.Page("/players/"+p.id), "Paused")
		h.Submit("/players/"+p.id+"/resume", http.StatusSeeOther)
		require.Contains(t, h.Page("/players/"+p.id+"/secret"), "Give Cellar a new token?")
		to = h.Submit("/players/"+p.id+"/secret", http.StatusSeeOther).Header().Get("Location")
		require.Contains(t, h.Page(to), "player-token")
		require.Equal(t, "/players/"+p.id, h.Knock(http.MethodGet, "/players/"+p.id+"/setup").Header().Get("Location"))
		require.Contains(t, h.Page("/players/"+p.id+"/remove"), "Remove Cellar?")
		h.Submit("/players/"+p.id+"/remove", http.StatusSeeOther)
		require.Contains(t, h.Page("/listens/1"), "Removed player")
	})
}

func TestAPlayerIsRemovedWithWhatItSent(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		p.send(http.MethodPost, "/1/submit-listens", p.secret, single("Jóga", time.Now()))
		require.Len(t, p.listens(), 1)
		h.Call(http.MethodDelete, "/players/"+p.id+"?data=true", "", http.StatusNoContent)
		require.Empty(t, h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"])
	})
}

func TestPlayersOfOthersAreNotFound(t *testing.T) {
	today(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		p := newPlayer(h, "any")
		require.Len(t, h.Call(http.MethodGet, "/players", "", http.StatusOK)["players"], 1)
		h.As(h.Other("Ben"))
		require.Empty(t, h.Call(http.MethodGet, "/players", "", http.StatusOK)["players"])
		h.Call(http.MethodGet, "/players/"+p.id, "", http.StatusNotFound)
		h.Call(http.MethodDelete, "/players/"+p.id, "", http.StatusNotFound)
		h.Call(http.MethodPost, "/players/"+p.id+"/secret", "", http.StatusNotFound)
		h.Call(http.MethodPatch, "/players/"+p.id, `{"name":"Mine"}`, http.StatusNotFound)
	})
}
