package demo

import (
	"context"
	"errors"
	"net/http"
)

// Fault answers a request in place of an upstream; with an error the connection breaks. If it returns neither an answer
// nor an error, the upstream answers. Over a socket all errors look the same; in process the client gets that one.
type Fault func(*http.Request) (*http.Response, error)

// Fail makes the requests to one path of an upstream end in a fault; nil ends that. An empty path means every path of
// its API, but neither its token endpoint nor its pages. With [Options.InProcess] another name is that of a host with
// nothing behind it but its faults.
func (w *World) Fail(provider, path string, f Fault) {
	g := w.gate(provider)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults[path] = f
}

// gate returns the one of an upstream, or the one of a host that only fails.
func (w *World) gate(name string) *gate {
	if g := w.gates[name]; g != nil {
		return g
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.hosts[name]
	if g == nil {
		g = w.newGate(context.Background(), rules{who: func(*http.Request) string { return "" }})
		g.faults[""] = noHost
		w.hosts[name] = g
	}
	return g
}

func noHost(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") }

// fail lets a request end in the fault of its path, if there is one.
func (g *gate) fail(call *Call, r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	f := g.faults[r.URL.Path]
	if f == nil && g.concern(r, RateLimited) {
		f = g.faults[""]
	}
	g.mu.Unlock()
	if f == nil {
		return nil, nil
	}
	resp, err := f(r)
	if resp != nil {
		g.answered(call, resp.StatusCode)
	}
	return resp, err
}
