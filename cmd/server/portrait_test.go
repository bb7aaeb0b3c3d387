package main

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/demo/household"
	"reprise/internal/server"
)

// portrait is every page of the demo, as it is on one evening: the same on each day on which it is made.
type portrait struct {
	pages   map[string]string // the address of one page of each kind, by the name of that kind
	answers map[string]answer // of all that the pages need, by address
}

// sitting is when a portrait is made; the household listens to most of its music after work.
var sitting = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

// The household gets up and goes to bed by the zone of its server: on each machine the same.
func init() { time.Local = time.UTC }

type answer struct {
	header http.Header
	body   []byte
}

// ServeHTTP answers as the server did that evening.
func (p *portrait) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := p.answers[r.URL.RequestURI()]
	if !ok {
		http.NotFound(w, r)
		return
	}
	maps.Copy(w.Header(), a.header)
	_, _ = w.Write(a.body)
}

// mailbox is the household's world with a mailbox, which a World without sockets lacks.
type mailbox struct{ *demo.World }

func (m mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Host, ".example.org") {
		return m.World.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
}

// sit makes the portrait of a household whose server has run for some minutes.
func sit(t *testing.T) *portrait {
	t.Helper()
	p := &portrait{pages: map[string]string{}, answers: map[string]answer{}}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(sitting))
		world, err := demo.Start(demo.Options{Seed: 1, InProcess: true, Plays: 4000, Days: 250})
		require.NoError(t, err)
		defer world.Close()
		box := &world.Mailbox
		box.NtfyURL, box.WebhookURL = "ntfy://ntfy.example.org/alice", "https://hooks.example.org/reprise"
		box.MailURL = "https://hooks.example.org/mail" // mail is sent over sockets
		l := &living{t: t, settings: household.Settings(world)}
		l.parts(mailbox{world})
		ctx, cancel := context.WithCancel(context.Background())
		alice, err := l.program(world).Furnish(ctx, l.config.Providers)
		require.NoError(t, err)
		var running sync.WaitGroup
		for _, run := range append(l.run, l.deliveries.Run) {
			running.Go(func() { assert.NoError(t, run(ctx)) })
		}
		defer running.Wait()
		defer cancel()
		time.Sleep(3 * time.Minute)
		synctest.Wait()

		pages := l.server
		pages.Settings = l.held
		pages.Demo = func(show demo.Show) http.Handler { return world.Handler("/demo", show) }
		p.walk(t, pages, false, "/login", "/offline", "/reset", "/invitation")
		pages.DemoUser = alice
		p.walk(t, pages, true, "/", "/demo/components", "/welcome", "/welcome/contact", "/welcome/services",
			"/welcome/done", "/listening/common?person=Bob")
		p.copyPlaylists(t, l, pages)
		for service, mode := range map[string]demo.Mode{demo.Spotify: demo.Revoked, demo.Navidrome: demo.Unavailable} {
			require.NoError(t, world.Switch(service, mode))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		p.walk(t, pages, false, "/?", "/notifications?", "/connections/spotify?", "/connections/navidrome?")
	})
	return p
}

// copyPlaylists has the playlists of YouTube copied to Navidrome, which lacks some of the songs, and opens a copy.
func (p *portrait) copyPlaylists(t *testing.T, l *living, c server.Config) {
	t.Helper()
	web, err := server.New(c)
	require.NoError(t, err)
	all, err := l.store.Playlists(t.Context(), c.DemoUser)
	require.NoError(t, err)
	last := ""
	for _, one := range all {
		if one.Connection != demo.YouTube {
			continue
		}
		last = fmt.Sprintf("/playlists/%d", one.ID)
		w := p.ask(t, web, http.MethodPut, "/api/v1"+last+"/copies/navidrome", "")
		require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	}
	time.Sleep(3 * time.Minute)
	synctest.Wait()
	p.walk(t, c, true, last+"?copied", "/connections/navidrome/songs")
}

// ask sends a request of a browser in Berlin.
func (p *portrait) ask(t *testing.T, web *server.Server, method, at, cookie string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, at, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8420", "127.0.0.1:1"
	r.Header.Set("Cookie", "reprise_zone=Europe%2FBerlin"+cookie)
	w := httptest.NewRecorder()
	web.ServeHTTP(w, r)
	return w
}

var (
	leads = regexp.MustCompile(`(href|src)="(/[^"#]*)`)
	// noPage matches what is no page, or one of a kind that another address shows.
	noPage = regexp.MustCompile(`^/(art|static|api|manifest|sw.js)|./export$|\?`)
)

// walk opens pages, and with follow one of each kind that their links lead to, as well as the pictures on them.
func (p *portrait) walk(t *testing.T, c server.Config, follow bool, from ...string) {
	t.Helper()
	web, err := server.New(c)
	require.NoError(t, err)
	session := ""
	for next := from; len(next) > 0; next = next[1:] {
		at := next[0]
		name := kindOf(web, at)
		if _, known := p.answers[at]; known || p.pages[name] != "" {
			continue
		}
		w := p.ask(t, web, http.MethodGet, at, session)
		for _, set := range w.Result().Cookies() {
			session = "; " + set.Name + "=" + set.Value
		}
		w.Header().Del("Set-Cookie")
		p.answers[at] = answer{w.Header(), w.Body.Bytes()}
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		p.pages[name] = at
		for _, m := range leads.FindAllStringSubmatch(w.Body.String(), -1) {
			to := html.UnescapeString(m[2])
			if m[1] == "src" || follow && !noPage.MatchString(to) {
				next = append(next, to)
			}
		}
	}
}

// kindOf names the kind of a page by its route.
func kindOf(web *server.Server, at string) string {
	path, query, inTrouble := strings.Cut(at, "?")
	if noPage.MatchString(path) {
		return at
	}
	c := web.Router().NewContext(nil, nil)
	web.Router().Router().Find(http.MethodGet, path, c)
	route := c.Path()
	if strings.HasSuffix(route, "*") {
		route = path
	} else if c.Param("kind") != "" && strings.Count(path, "/") == 3 { // an artist, an album and a track differ
		route = strings.Replace(route, ":kind", c.Param("kind"), 1)
	}
	name := strings.ReplaceAll(strings.Trim(strings.ReplaceAll(route, ":", ""), "/"), "/", "-")
	name = cmp.Or(name, "status")
	if inTrouble {
		name += "-" + cmp.Or(query, "in-trouble")
	}
	return name
}
