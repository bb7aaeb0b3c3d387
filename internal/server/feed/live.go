package feed

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"reprise/internal/events"
	"reprise/internal/server/core"
)

// How soon a page gets what has changed: a little after an event, since others may follow at once, and not too often.
const (
	liveAfter = 100 * time.Millisecond
	liveEvery = time.Second
)

// maxPage is how many bytes a page may have that a stream follows.
const maxPage = 4 << 20

// frameParts are the parts that every page has, and the events that change them. A page that has no others is not
// looked at for other events.
var (
	frameParts  = []string{"bell", "banners", "dead-letters"}
	frameEvents = []events.Type{events.Notification, events.Deliveries, events.Access}
)

// live keeps the page in a browser as it would be if it were loaded now: it sends the parts that have changed. The zero
// live follows no page.
type live struct {
	pages http.Handler
	ask   *http.Request // for the page
	tops  []string      // the ids of the parts that the browser has
	known core.Known    // what is in them
	due   <-chan time.Time
	last  time.Time // when the page was looked at
}

// follow returns what keeps the page that a stream's request names, with the versions of the parts that its browser
// has: "page" and "parts" of the query.
func follow(pages http.Handler, r *http.Request) live {
	q := r.URL.Query()
	at, err := url.Parse(q.Get("page"))
	if pages == nil || err != nil || at.Host != "" || !strings.HasPrefix(at.Path, "/") ||
		strings.HasPrefix(at.Path, "/api/") {
		return live{}
	}
	l := live{pages: pages, known: core.Known{}}
	for pair := range strings.SplitSeq(q.Get("parts"), ",") {
		if id, version, ok := strings.Cut(pair, ":"); ok {
			l.tops = append(l.tops, id)
			l.known[id] = core.Part{ID: id, Version: version}
		}
	}
	l.ask = &http.Request{Method: http.MethodGet, URL: at, RequestURI: at.RequestURI(), Proto: r.Proto,
		ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, Host: r.Host, RemoteAddr: r.RemoteAddr, TLS: r.TLS,
		Header: http.Header{}, Body: http.NoBody}
	for _, name := range []string{"Cookie", "Accept-Language", "User-Agent", "X-Forwarded-For", "X-Real-Ip"} {
		l.ask.Header[name] = r.Header[name]
	}
	// So that a message for the person is kept for the next page that a person opens.
	l.ask.Header.Set(core.RefreshHeader, at.Path)
	return l
}

// follows says whether there is a page.
func (l *live) follows() bool { return l.ask != nil }

// want has the page looked at soon, if an event may have changed it.
func (l *live) want(e events.Event) {
	if !l.follows() || l.due != nil || e.Type == events.Progress || e.Type == events.SessionEnd {
		return
	}
	if l.onlyFrame() && !slices.Contains(frameEvents, e.Type) {
		return
	}
	l.due = time.After(max(liveAfter, time.Until(l.last.Add(liveEvery))))
}

func (l *live) onlyFrame() bool {
	return !slices.ContainsFunc(l.tops, func(id string) bool { return !slices.Contains(frameParts, id) })
}

// look returns the parts of the page that have changed. moved is where the page leads now, if it is there no longer; a
// page that cannot be shown at the moment has no changes.
func (l *live) look(ctx context.Context) (changes []core.Changed, moved string) {
	l.due, l.last = nil, time.Now()
	w := &pageWriter{header: http.Header{}}
	l.pages.ServeHTTP(w, l.ask.Clone(ctx))
	switch {
	case w.status >= 300 && w.status < 400:
		return nil, w.header.Get("Location")
	case w.status >= 400:
		return nil, ""
	}
	// A part that the browser has not got is in one that it has, or on none of its pages.
	now := slices.DeleteFunc(core.PartsOf(w.body.Bytes()), func(p core.Part) bool {
		return !slices.Contains(l.tops, p.ID)
	})
	changes = l.known.Changes(now)
	l.known = core.Known{}
	for _, p := range now {
		l.known.Note(p)
	}
	return changes, ""
}

// show sends what has changed on the page.
func (f *feed) show(ctx context.Context) error {
	changes, moved := f.live.look(ctx)
	if moved != "" {
		return f.message("moved", map[string]string{"url": moved})
	}
	if len(changes) == 0 {
		return nil
	}
	return f.message("parts", map[string]any{"parts": changes})
}

// pageWriter keeps a page. It takes nothing but pages.
type pageWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var errNoPage = errors.New("no page")

// Header implements http.ResponseWriter.
func (w *pageWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pageWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *pageWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !strings.HasPrefix(w.header.Get("Content-Type"), "text/html") || w.body.Len()+len(b) > maxPage {
		return 0, errNoPage
	}
	return w.body.Write(b)
}
