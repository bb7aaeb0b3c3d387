package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/server/servertest"
	"reprise/internal/soak"
)

// complaints are the lines of the log that say that a request met a fault of ours.
type complaints struct {
	mu  sync.Mutex
	all []string
}

func (*complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (c *complaints) WithAttrs([]slog.Attr) slog.Handler         { return c }
func (c *complaints) WithGroup(string) slog.Handler              { return c }

func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	c.all = append(c.all, line)
	return nil
}

func (c *complaints) take() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.all = c.all, nil
	return all
}

// babbler is somebody who is signed in and sends nonsense.
type babbler struct {
	*rand.Rand
	t      *testing.T
	client *http.Client
	url    string
	fields []string // of all forms
	tries  int      // how many requests full of nonsense each route gets
}

// odd are values that a parameter or a field may have, also where they are of the wrong type.
var odd = []any{nil, "", "1", 1, 0, -1, 1.5, 1e300, true, []any{}, []any{"1", nil}, map[string]any{"a": 1}, "nothing",
	"2026-11-22T15:04:05Z", "2026-11-22", "9999-12-31", "0000-00-00T00:00:00Z", "admin", "read", "listenbrainz",
	"navidrome", "youtube", "https://[::1", "http://example.org", "a\x00b", "\xff\xfe", "../../etc/passwd", "<b>",
	strings.Repeat("é", 5_000), strings.Repeat("9", 40), "-9223372036854775808", "all", "artist",
	"10m", "24", "%", "*"}

// ids take the place of the parameters of a path: names of what there is, and of nothing.
var ids = [][]string{
	{"listenbrainz", "navidrome", "navidrome-2", "s3", "spotify", "lastfm", "youtube", "musicbrainz", "openai"},
	{"1", "artist", "album", "2026", "1.csv", "artists.csv", "retry"},
	{"0", "-1", "nothing", "99999999999999999999", "a%00b", "%FF", "..%2F..%2Fx", "%E2%80%AE",
		strings.Repeat("x", 2_000)},
}

var inPath = regexp.MustCompile(`:\w+|\*`)

func (b *babbler) pick(from []string) string { return from[b.IntN(len(from))] }

// object returns a JSON object with some of the fields of a call.
func (b *babbler) object(known servertest.Fields) map[string]any {
	o := map[string]any{}
	for name, below := range known {
		switch n := b.IntN(10); {
		case n < 2: // without it
		case n < 6 && below != nil:
			o[name] = b.object(below)
		case n < 8 && below != nil:
			o[name] = []any{b.object(below), nil}
		default:
			o[name] = odd[b.IntN(len(odd))]
		}
	}
	return o
}

// values returns parameters or the fields of a form.
func (b *babbler) values(names []string) url.Values {
	v := url.Values{}
	for _, name := range names {
		for range b.IntN(3) {
			if text, ok := odd[b.IntN(len(odd))].(string); ok {
				v.Add(name, text)
			}
		}
	}
	return v
}

// body returns a body and its type for a call or a form.
func (b *babbler) body(call servertest.Call) (body, kind string) {
	switch b.IntN(12) {
	case 0:
		return "", ""
	case 1:
		return b.pick([]string{"{", "[]", "null", `"x"`, "0", "{}{}", `{"a":` + strings.Repeat("[", 9_000)}),
			"application/json"
	case 2:
		return strings.Repeat("x", 300<<10), b.pick([]string{"application/json", "text/plain"})
	case 3:
		part := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n{}"
		return b.pick([]string{"", "--b\r\n", part}), "multipart/form-data" + b.pick([]string{"", "; boundary=b"})
	case 4:
		return "%zz&=&;", "application/x-www-form-urlencoded"
	case 5:
		return `{"name":1}`, b.pick([]string{"", "image/png", "application/zip", "text/plain;;",
			"application/json; charset=x"})
	}
	if call.Body != nil || b.IntN(8) == 0 {
		o, err := json.Marshal(b.object(call.Body))
		require.NoError(b.t, err)
		return string(o), "application/json"
	}
	return b.values(b.fields).Encode(), "application/x-www-form-urlencoded"
}

// send sends a request and returns its status.
func (b *babbler) send(method, path, body, kind string) (int, string) {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err, path)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w, err := b.client.Do(r)
	require.NoError(b.t, err, "%s %s", method, path)
	defer w.Body.Close()
	said, err := io.ReadAll(io.LimitReader(w.Body, 1<<20))
	require.NoError(b.t, err, "%s %s", method, path)
	return w.StatusCode, string(said)
}

// routes returns every route that ends by itself. TestListOfRoutes compares the list with those that are registered.
func routes(t *testing.T) [][]string {
	t.Helper()
	list, err := os.ReadFile("../../internal/server/testdata/routes.txt")
	require.NoError(t, err)
	var all [][]string
	for line := range strings.Lines(string(list)) {
		if !strings.Contains(line, "/api/v1/events") && line != "GET /readyz\n" { // the loops don't run here
			all = append(all, strings.Fields(line))
		}
	}
	require.Greater(t, len(all), 250)
	return all
}

// newBabbler returns one with an account, who has seen all pages for the fields of their forms.
func newBabbler(t *testing.T, l *living, role string, seed uint64) *babbler {
	t.Helper()
	u, err := l.accounts.Create(t.Context(), "Ben "+role, "a long enough password", role, false)
	require.NoError(t, err)
	if l.settings != nil {
		l.past(u.ID)
	}
	srv := httptest.NewServer(l.serve(u.ID))
	t.Cleanup(srv.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	b := &babbler{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, tries: soak.Count(t, 12, 3), url: srv.URL,
		client: &http.Client{Jar: jar,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	named := regexp.MustCompile(` name="([a-z0-9_.]+)"`)
	for _, route := range routes(t) {
		if route[0] != http.MethodGet || strings.HasPrefix(route[1], "/api/") {
			continue
		}
		for _, id := range []string{"1", "listenbrainz", "navidrome", "artist", "s3", "spotify"} {
			_, page := b.send(http.MethodGet, inPath.ReplaceAllString(route[1], id), "", "")
			for _, m := range named.FindAllStringSubmatch(page, -1) {
				b.fields = append(b.fields, m[1])
			}
		}
	}
	slices.Sort(b.fields)
	b.fields = slices.Compact(b.fields)
	require.Greater(t, len(b.fields), 30)
	return b
}

// No route fails on nonsense from somebody who is signed in: it is refused with what is wrong.
func TestNonsenseIsRefused(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{"nothing is set up": nil, "all is set up": allSetUp} {
		for _, role := range []string{accounts.Member, accounts.Admin} {
			t.Run(name+", "+role, func(t *testing.T) {
				t.Parallel()
				said := &complaints{}
				l := &living{t: t, log: said, settings: settings}
				l.wire(nowhere{})
				b := newBabbler(t, l, role, uint64(len(name)))
				for _, route := range routes(t) {
					b.bother(route[0], route[1], said)
				}
			})
		}
	}
}

// allSetUp registers every service.
var allSetUp = map[string]string{"providers.spotify.client_id": "app", "providers.lastfm.client_id": "app",
	"providers.lastfm.client_secret": "secret", "providers.youtube.client_id": "app",
	"providers.youtube.client_secret": "secret", "providers.youtube.keys": "a-key-of-youtube",
	"providers.fanarttv.keys": "a-key-of-fanart.tv",
	"providers.openai.keys":   "a-key-of-openai", "providers.openai.model": "model",
	"admin_token": "the operator's own token"}

// past gives somebody connections and listens.
func (l *living) past(user int64) {
	for _, id := range []library.ConnectionID{"listenbrainz", "navidrome", "navidrome-2", "lastfm", "spotify", "s3"} {
		_, err := l.store.SaveConnection(l.t.Context(), library.Connection{User: user, ID: id, AccountID: "ben",
			Account: "ben", App: "app", Credentials: library.Credentials{"token": "t", "url": "http://nas.example.org"},
			CreatedAt: time.Now()})
		require.NoError(l.t, err)
	}
	var plays []library.Listen
	for i := range 30 {
		plays = append(plays, library.Listen{SourceID: fmt.Sprint(i),
			PlayedAt: time.Now().Add(-time.Hour * time.Duration(i)),
			Track:    library.Track{Title: fmt.Sprint("Song ", i%7), Artist: "Sigur Rós", Album: "Takk..."}})
	}
	_, err := l.store.SaveListens(l.t.Context(), library.Intake{User: user, Connection: "spotify", Listens: plays})
	require.NoError(l.t, err)
}

// bother sends nonsense to a route.
func (b *babbler) bother(method, route string, said *complaints) {
	call := servertest.Calls()[method+" "+route]
	asked := slices.Concat(call.Query, []string{"return_to", "limit", "before"}[:b.IntN(4)])
	for n := range b.tries {
		path := inPath.ReplaceAllStringFunc(route, func(string) string {
			return b.pick(ids[(n+b.IntN(2))%len(ids)])
		})
		if query := b.values(asked).Encode(); len(query) < 20_000 && b.IntN(2) == 0 {
			path += "?" + query
		}
		body, kind := "", ""
		if method != http.MethodGet {
			body, kind = b.body(call)
		}
		status, answer := b.send(method, path, body, kind)
		sent := fmt.Sprintf("%s %.300s %s: %.500q\n%.300s", method, path, kind, body, answer)
		if !assert.Empty(b.t, said.take(), sent) || !assert.Less(b.t, status, http.StatusInternalServerError, sent) {
			return // one fault of a route is enough to read
		}
	}
}

// A person may have an address open that nothing leads to any more.
func TestAnAnswerThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	for service, want := range map[string]int{"listenbrainz": http.StatusNotFound, "navidrome": http.StatusNotFound,
		"s3": http.StatusNotFound, "youtube": http.StatusSeeOther, "lastfm": http.StatusSeeOther} {
		w := l.ask(l.request(http.MethodPost, "/connect/"+service+"/answer", ""))
		require.Equal(t, want, w.Code, service)
		if want == http.StatusSeeOther {
			require.Contains(t, w.Header().Get("Location"), "/setup/"+service)
		}
	}
	for _, path := range []string{"/settings/server/breakers/reset", "/welcome/services", "/connect/navidrome"} {
		r := l.request(http.MethodPost, path, "--b")
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		require.Equal(t, http.StatusBadRequest, l.ask(r).Code, path)
	}
}
