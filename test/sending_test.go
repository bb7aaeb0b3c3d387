package test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// device is a program that sends plays in one of the protocols, and keeps each until it is acknowledged.
type device struct {
	secret string
	submit func(base, secret, title string, at time.Time) bool // whether it was acknowledged
}

// answers sends a request and returns its status and body; an empty one if the server is away.
func answers(base, path, token, contentType, body string) (int, string) {
	r, err := http.NewRequest(http.MethodPost, base+path, strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Token "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(b)
}

const formType = "application/x-www-form-urlencoded"

// devices are one for each protocol.
var devices = map[string]func(base, secret, title string, at time.Time) bool{
	"listenbrainz": func(base, secret, title string, at time.Time) bool {
		code, _ := answers(base, "/1/submit-listens", secret, "application/json", fmt.Sprintf(
			`{"listen_type":"single","payload":[{"listened_at":%d,"track_metadata":{"artist_name":"Björk",
			"track_name":%q}}]}`, at.Unix(), title))
		return code == http.StatusOK
	},
	"lastfm": func(base, secret, title string, at time.Time) bool {
		_, body := answers(base, "/2.0/", "", formType, url.Values{"method": {"track.scrobble"}, "sk": {secret},
			"artist": {"Björk"}, "track": {title}, "timestamp": {fmt.Sprint(at.Unix())}}.Encode())
		return strings.Contains(body, `accepted="1"`)
	},
	"audioscrobbler": func(base, secret, title string, at time.Time) bool {
		_, body := answers(base, "/p/"+secret+"/protocol_1.2", "", formType, url.Values{"s": {secret},
			"a[0]": {"Björk"}, "t[0]": {title}, "i[0]": {fmt.Sprint(at.Unix())}, "l[0]": {"200"},
			"o[0]": {"P"}}.Encode())
		return body == "OK\n"
	},
}

// Promise: A play that Reprise has acknowledged survives a kill at any moment, and one that is sent again is one.
func TestAnAcknowledgedPlaySurvivesAKill(t *testing.T) {
	takesLong(t)
	t.Parallel()
	kills, plays := 3, 60
	if soak.All() {
		kills, plays = 50, 1000
	}
	w := newWorld(t, demo.Options{Plays: 20})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	base := p.url
	v := p.newcomer()
	all := map[string]device{}
	for kind, submit := range devices {
		made := v.call(http.MethodPost, "/players", object{"name": kind, "kind": kind}, 201)
		all[kind] = device{made["secret"].(string), submit}
	}
	began := time.Now().Add(-24 * time.Hour)
	var sending sync.WaitGroup
	for kind, d := range all {
		sending.Go(func() {
			for n := range plays {
				title, at := fmt.Sprintf("%s %d", kind, n), began.Add(time.Duration(n)*time.Minute)
				for !d.submit(base, d.secret, title, at) {
					time.Sleep(5 * time.Millisecond)
				}
				if n%7 == 0 { // as if the answer had been lost
					for !d.submit(base, d.secret, title, at) {
						time.Sleep(5 * time.Millisecond)
					}
				}
			}
		})
	}
	random := soak.Rand(t)
	for range kills {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // so that each step is met
		require.Error(t, p.stop(syscall.SIGKILL))
		p = startAt(t, dir, strings.TrimPrefix(base, "http://"), worldEnv(w)...)
	}
	sending.Wait()
	found := map[string]int{}
	for next, more := "", true; more; {
		page := v.call(http.MethodGet, "/listens?limit=1000&before="+url.QueryEscape(next), nil, 200)
		for _, l := range page["listens"].([]any) {
			found[l.(object)["track"].(string)]++
		}
		next, more = page["next"].(string)
	}
	for kind := range all {
		for n := range plays {
			title := fmt.Sprintf("%s %d", kind, n)
			require.Equal(t, 1, found[title], title)
		}
	}
}
