package cluster

import (
	"context"
	"net/http"

	"reprise/internal/leases"
)

// here answers a request by pages of this server. If it is about an app that another server calls, that one answers.
func (g *Gate) here(w http.ResponseWriter, r *http.Request, h Pages, hops int) {
	if r.Header.Get("Upgrade") != "" || h.NeedsNoLeader(r) {
		h.ServeHTTP(w, r)
		return
	}
	body, whole, done := g.keep(w, r)
	defer done()
	waiting, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	for {
		ctx, to := leases.Watch(r.Context())
		h.ServeHTTP(&undecided{w, to}, body(r).WithContext(ctx))
		if to.Address == "" {
			return
		}
		clear(w.Header())
		if !whole || hops == mostHops {
			break
		}
		err := g.ask(w, body(r).WithContext(context.WithValue(r.Context(), hopsKey{}, hops+1)), to.Address)
		if err == nil {
			return
		}
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		g.log.Debug("the server that calls an app did not answer", "app", to.App, "err", err)
		if !mayRepeat(r, err, whole) || !g.wait(waiting, nil) {
			break
		}
	}
	g.front.ServeHTTP(w, r)
}

// undecided drops an answer once it is known that another server has to answer.
type undecided struct {
	http.ResponseWriter
	to *leases.Elsewhere
}

// WriteHeader implements http.ResponseWriter.
func (u *undecided) WriteHeader(status int) {
	if u.to.Address == "" {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (u *undecided) Write(b []byte) (int, error) {
	if u.to.Address != "" {
		return len(b), nil
	}
	return u.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (u *undecided) Unwrap() http.ResponseWriter { return u.ResponseWriter }
