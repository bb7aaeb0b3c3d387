package test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

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

// devices send a play in one protocol each, and report whether it was acknowledged.
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
	"json": func(base, secret, title string, at time.Time) bool {
		code, _ := answers(base, "/p/"+secret+"/json", "", "application/json", fmt.Sprintf(
			`{"event":"played","artist":"Björk","title":%q,"at":%d,"length":200}`, title, at.Unix()))
		return code == http.StatusOK || code == http.StatusNoContent
	},
	"audioscrobbler": func(base, secret, title string, at time.Time) bool {
		_, body := answers(base, "/p/"+secret+"/protocol_1.2", "", formType, url.Values{"s": {secret},
			"a[0]": {"Björk"}, "t[0]": {title}, "i[0]": {fmt.Sprint(at.Unix())}, "l[0]": {"200"},
			"o[0]": {"P"}}.Encode())
		return body == "OK\n"
	},
}

// Promise: A play that Reprise has acknowledged survives a kill at any moment, is there once however often it is sent,
// and gets to each target once, whatever fails there meanwhile.
func TestAnAcknowledgedPlaySurvivesAKill(t *testing.T) {
	takesLong(t)
	t.Parallel()
	kills, plays, faults := 3, 24, 20
	if soak.All() {
		kills, plays, faults = 50, 1000, 500
	}
	w := newWorld(t, demo.Options{Plays: 20})
	c := newChaos(t)
	env := c.through(t, append(lastfmEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_DELIVERY_MAX_DELAY=1s"),
		w.ListenBrainz.URL, w.LastFM.URL)
	dir := t.TempDir()
	p := start(t, dir, env...)
	base := p.url
	v := p.newcomer()
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Bob)}, 200)
	v.consentAtLastFM(w, url.Values{"decision": {"agree"}, "account": {demo.Bob}}, 200)
	for _, name := range []string{"listenbrainz", "lastfm"} {
		v.becomes(name, "healthy")
		v.call(http.MethodPut, "/connections/"+name+"/forwarding", object{"earlier": true}, 200)
	}
	c.begin(faults)

	began := time.Now().Add(-time.Duration(plays) * time.Second)
	var acknowledged atomic.Int64
	var sending sync.WaitGroup
	var titles []string
	for n := range 10 {
		kind := slices.Sorted(maps.Keys(devices))[n%len(devices)]
		name := fmt.Sprint(kind, " of room ", n)
		secret := v.call(http.MethodPost, "/players", object{"name": name, "kind": kind}, 201)["secret"].(string)
		for i := range plays {
			titles = append(titles, fmt.Sprint(name, ", song ", i))
		}
		mine := titles[len(titles)-plays:]
		sending.Go(func() {
			for i, title := range mine {
				at := began.Add(time.Duration(i) * time.Second)
				for again := i%7 == 0; ; again = false { // as if the first answer had been lost
					for !devices[kind](base, secret, title, at) {
						time.Sleep(5 * time.Millisecond)
					}
					if !again {
						break
					}
				}
				acknowledged.Add(1)
			}
		})
	}
	random := soak.Rand(t)
	for kill := range kills {
		for acknowledged.Load() < int64(len(titles)*(kill+1)/(kills+2)) {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond) // so that each step is met
		require.Error(t, p.stop(syscall.SIGKILL))
		p = startAt(t, dir, strings.TrimPrefix(base, "http://"), env...)
	}
	sending.Wait()
	c.begin(0)
	found := map[string]int{}
	for next, more := "", true; more; {
		page := v.call(http.MethodGet, "/listens?limit=1000&before="+url.QueryEscape(next), nil, 200)
		for _, l := range page["listens"].([]any) {
			found[l.(object)["track"].(string)]++
		}
		next, more = page["next"].(string)
	}
	once := func(where string, found map[string]int) {
		for _, title := range titles {
			require.Equal(t, 1, found[title], "%s: %s", where, title)
		}
	}
	once("Reprise", found)
	v.eventually("everything to be carried", func() bool { return v.underWay() == 0 })
	for where, all := range map[string][]demo.Play{"ListenBrainz": w.ListenBrainz.Listens(demo.Bob),
		"Last.fm": w.LastFM.Listens(demo.Bob)} {
		there := map[string]int{}
		for _, one := range all {
			there[one.Title]++
		}
		once(where, there)
	}
}
