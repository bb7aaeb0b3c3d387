package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	frameParts  = []string{"title", "bell", "banners", "dead-letters"}
	frameEvents = []events.Type{events.Notification, events.Deliveries, events.Access}
)

// live keeps the page in a browser as it would be if it were loaded now: it sends the parts that have changed. The zero
// live follows no page.
type live struct {
	pages http.Handler
	ask   *http.Request // for the page
	same  string        // what the page depends on
	tops  []string      // the ids of the parts that the browser has
	known core.Known    // what is in them; shared with other streams
	has   string        // names known
	due   time.Time     // when it is looked at again; zero for not at all
	last  time.Time     // when the page was looked at
}

// follow returns what keeps the page that a stream's request names, with the versions of the parts that its browser
// has: "page" and "parts" of the query.
func (h *Handler) follow(r *http.Request) live {
	q := r.URL.Query()
	at, err := url.Parse(q.Get("page"))
	if err != nil {
		return live{}
	}
	at = h.Core.Local(at)
	if h.Pages == nil || at.Host != "" || !strings.HasPrefix(at.Path, "/") ||
		strings.HasPrefix(at.Path, "/api/") {
		return live{}
	}
	l := live{pages: h.Pages, known: core.Known{}}
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
	sum := sha256.New()
	near, _, _ := net.SplitHostPort(r.RemoteAddr)
	fmt.Fprintf(sum, "%q %q %q %t %q", at.RequestURI(), r.Host, near, r.TLS != nil, l.ask.Header)
	l.same, l.has = string(sum.Sum(nil)), q.Get("parts")
	// So that a message for the person is kept for the next page that a person opens.
	l.ask.Header.Set(core.RefreshHeader, at.Path)
	return l
}

// follows says whether there is a page.
func (l *live) follows() bool { return l.ask != nil }

// want has the page looked at soon, if an event may have changed it, and reports whether that was not planned yet.
func (l *live) want(e events.Event) bool {
	if !l.follows() || !l.due.IsZero() || e.Type == events.Progress || e.Type == events.SessionEnd {
		return false
	}
	if l.onlyFrame() && !slices.Contains(frameEvents, e.Type) {
		return false
	}
	l.due = time.Now().Add(max(liveAfter, time.Until(l.last.Add(liveEvery))))
	return true
}

func (l *live) onlyFrame() bool {
	return !slices.ContainsFunc(l.tops, func(id string) bool { return !slices.Contains(frameParts, id) })
}

// page is what all streams see that follow the same page with the same cookies.
type page struct {
	number uint64 // of the look
	moved  string // where it leads now, if it is there no longer
	parts  []core.Part

	mu     sync.Mutex
	deltas map[string]delta // by what a browser has
}

// delta is what a browser needs, and has then.
type delta struct {
	changes []byte // JSON; nil for none
	known   core.Known
}

// read returns a page as it is now; without parts if it cannot be shown at the moment.
func (l *live) read(ctx context.Context) (*page, error) {
	w := &pageWriter{header: http.Header{}}
	l.pages.ServeHTTP(w, l.ask.Clone(ctx))
	p := &page{number: looks.Add(1), deltas: map[string]delta{}}
	switch {
	case w.status >= 300 && w.status < 400:
		p.moved = w.header.Get("Location")
	case w.status < 300:
		p.parts = core.PartsOf(w.body.Bytes())
	}
	return p, nil
}

// looks is how many pages streams have looked at.
var looks atomic.Uint64

// changes returns what has changed on a page since a browser got it, as JSON; nil for nothing.
func (l *live) changes(p *page) ([]byte, error) {
	if p.parts == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	from := l.has + " " + strings.Join(l.tops, " ")
	d, made := p.deltas[from]
	if !made {
		// A part that the browser has not got is in one that it has, or on none of its pages.
		now := slices.DeleteFunc(slices.Clone(p.parts), func(p core.Part) bool {
			return !slices.Contains(l.tops, p.ID)
		})
		if changes := maps.Clone(l.known).Changes(now); len(changes) > 0 {
			var err error
			if d.changes, err = json.Marshal(map[string]any{"parts": changes}); err != nil {
				return nil, err
			}
		}
		d.known = core.Known{}
		for _, p := range now {
			d.known.Note(p)
		}
		p.deltas[from] = d
	}
	l.known, l.has = d.known, strconv.FormatUint(p.number, 10)
	return d.changes, nil
}

// show sends what has changed on the page.
func (f *feed) show(ctx context.Context) error {
	l := &f.live
	l.due, l.last = time.Time{}, time.Now()
	p, err := shared(ctx, &f.answers, f.reader.on(events.Event{}, l.same),
		need{f.since, l.last.Add(-liveAfter / 2)}, l.read)
	if err != nil {
		return err
	}
	if p.moved != "" {
		return f.encode("moved", map[string]string{"url": p.moved})
	}
	changes, err := l.changes(p)
	if err != nil || changes == nil {
		return err
	}
	return f.message("parts", changes)
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
