package sync_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
)

// historyServer is a person's own server with a history, the newest play first.
type historyServer struct {
	plays   []farPlay
	bounded bool // it keeps to the bounds of a time that it is asked for
}

type farPlay struct {
	at    time.Time
	title string
}

type object = map[string]any

// years gives it five hundred plays of each of so many months before this one.
func (s *historyServer) years(now time.Time, months int) {
	for m := range months {
		start := (library.MonthOf(now) - 1 - library.Month(m)).Start().Add(24 * time.Hour)
		for i := 499; i >= 0; i-- {
			s.plays = append(s.plays, farPlay{start.Add(time.Duration(i) * time.Hour), fmt.Sprint("song ", m, " ", i)})
		}
	}
}

// page returns a page, counted from 0, of the plays for which keep holds, and the number of all those.
func (s *historyServer) page(number, most int, keep func(time.Time) bool) (all []farPlay, n int) {
	for _, p := range s.plays {
		if !s.bounded || keep(p.at) {
			all = append(all, p)
		}
	}
	return all[min(number*most, len(all)):min((number+1)*most, len(all))], len(all)
}

// answer is that of Koito, Maloja or a GNU FM, by what is asked for.
func (s *historyServer) answer(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if req.Body != nil {
		body, _ := io.ReadAll(req.Body)
		if form, err := url.ParseQuery(string(body)); err == nil && req.Method == http.MethodPost {
			q = form
		}
	}
	number := func(name string, none int) int {
		if n, err := strconv.Atoi(q.Get(name)); err == nil {
			return n
		}
		return none
	}
	var body any
	switch path := req.URL.Path; {
	case path == "/apis/listenbrainz/1/validate-token":
		body = object{"code": 200, "valid": true, "user_name": "alice"}
	case path == "/apis/web/v1/listens":
		plays, n := s.page(number("page", 1)-1, number("limit", 100), func(at time.Time) bool {
			return q.Get("from") == "" || at.Unix() >= int64(number("from", 0)) && at.Unix() <= int64(number("to", 0))
		})
		items := []object{}
		for _, p := range plays {
			items = append(items, object{"time": p.at, "track": object{"id": 1, "title": p.title,
				"artists": []object{{"name": "Nina"}}}})
		}
		body = object{"items": items, "total_record_count": n,
			"has_next_page": number("page", 1)*number("limit", 100) < n}
	case path == "/apis/mlj_1/scrobbles", path == "/apis/mlj_1/numscrobbles":
		plays, n := s.page(number("page", 0), number("perpage", 100), func(at time.Time) bool {
			day := at.In(time.FixedZone("", 2*60*60)).Format("2006/01/02")
			return (q.Get("in") == "" || q.Get("in") == day) && (q.Get("from") == "" || q.Get("from") <= day) &&
				(q.Get("to") == "" || q.Get("to") >= day)
		})
		list := []object{}
		for _, p := range plays {
			list = append(list, object{"time": p.at.Unix(), "track": object{"title": p.title,
				"artists": []string{"Nina"}}})
		}
		body = object{"list": list, "amount": n}
	case q.Get("method") == "auth.getMobileSession":
		body = object{"session": object{"name": "alice", "key": "a-session"}}
	default:
		plays, n := s.page(number("page", 1)-1, number("limit", 50), func(at time.Time) bool {
			return at.Unix() >= int64(number("from", 0)) && (q.Get("to") == "" || at.Unix() < int64(number("to", 0)))
		})
		if n == 0 {
			body = object{"error": object{"#text": "Invalid resource specified", "code": "7"}}
			break
		}
		tracks := []object{}
		for _, p := range plays {
			tracks = append(tracks, object{"name": p.title, "artist": object{"#text": "Nina"},
				"album": object{"#text": ""}, "date": object{"uts": strconv.FormatInt(p.at.Unix(), 10)}})
		}
		body = object{"recenttracks": object{"track": tracks, "@attr": object{"user": "alice"}}}
	}
	text, _ := json.Marshal(body)
	return enginetest.Answer(req, http.StatusOK, string(text)), nil
}

// Promise: The history of a Koito, a Maloja or a Libre.fm is compared where a time of it can be asked for. Where that
// is ignored, nothing is said to be missing.
func TestHistoriesOfOwnServersAreCompared(t *testing.T) {
	for _, name := range []library.ConnectionID{"koito", "maloja", "librefm"} {
		for _, bounded := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", bounded), func(t *testing.T) {
				withPast(t, func(p *past) {
					far := &historyServer{bounded: bounded}
					far.years(time.Now(), 6)
					host := string(name) + ".example.org"
					p.up.Fail(host, far.answer)
					p.Registry.Replace(providertest.New(registry.Describe(string(name))))
					_, err := p.Connections.Connect(p.Context(), p.Registry.Get(string(name)), library.Connection{
						User: p.user, ID: name, Credentials: library.Credentials{"url": "https://" + host,
							"token": "a-token", "username": "alice", "password": "a password"}})
					require.NoError(p, err)
					time.Sleep(4 * time.Hour)
					require.Equal(p, 3000, p.Listens(p.user))
					// A month has plays more, and another one has lost some.
					late := farPlay{p.month(-2).Start().Add(200*time.Hour + 30*time.Minute),
						"a phone that was in a drawer"}
					at := 3 * 500 // after those of the months later than that one
					for far.plays[at-1].at.Before(late.at) {
						at--
					}
					far.plays = append(far.plays[:at:at], append([]farPlay{late}, far.plays[at:]...)...)
					far.plays = far.plays[:len(far.plays)-3]
					if !bounded {
						require.False(p, ledger.Compared(p.ledger(name)))
						time.Sleep(4 * 24 * time.Hour)
						for m := range 8 {
							require.Equal(p, ledger.Unknown, p.at(name, p.month(-m)).State)
						}
					} else {
						require.Equal(p, map[ledger.State]int{ledger.Proven: 6}, p.states(name, 6))
						c := p.again(name, p.month(-2))
						require.Equal(p, ledger.Proven, c.State)
						require.Equal(p, []int{1, 501}, []int{c.Audit.Refilled, c.Audit.Here})
						require.Len(p, p.again(name, p.month(-5)).Audit.Suspect, 3)
						time.Sleep(2 * 24 * time.Hour)
						require.Equal(p, ledger.Gone, p.at(name, p.month(-5)).State)
						require.Equal(p, ledger.Proven, p.at(name, p.month(-4)).State)
						require.Equal(p, 3001, p.Listens(p.user))
					}
				})
			})
		}
	}
}
