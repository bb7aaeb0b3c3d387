package players

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"reprise/internal/players"
	"reprise/internal/players/audioscrobbler"
	"reprise/internal/players/lastfm"
	"reprise/internal/players/listenbrainz"
	"reprise/internal/players/webhooks"
)

// Door is where players come in. It reads no cookie, allows any origin without credentials and any name of the host,
// because players use addresses that browsers don't. It is safe for concurrent use.
type Door struct {
	protocols []protocol
	base      func() string // the path of base_url; empty without one
	address   func(*http.Request) string
	room      *semaphore.Weighted // bytes of bodies that are read at the same time
}

// protocol answers the requests of one.
type protocol struct {
	serves func(*players.Request) bool
	serve  func(http.ResponseWriter, *players.Request)
}

// The bytes of bodies at the same time, and for how long a request waits for room.
const (
	bodiesAtOnce = 12 << 20
	roomWithin   = 10 * time.Second
)

// NewDoor returns a Door. base returns the path of base_url, and address whose connection a request came through.
func NewDoor(desk *players.Desk, store listenbrainz.Store, base func() string,
	address func(*http.Request) string) *Door {
	d := &Door{base: base, address: address, room: semaphore.NewWeighted(bodiesAtOnce)}
	d.protocols = []protocol{
		{asksConsent, d.consent},
		{webhooks.Serves, webhooks.New(desk).Serve},
		{audioscrobbler.Serves, audioscrobbler.New(desk).Serve},
		{lastfm.Serves, lastfm.New(desk, store).Serve},
		{listenbrainz.Serves, listenbrainz.New(desk, store).Serve}, // also what no protocol knows
	}
	return d
}

// asksConsent reports whether a program has sent its person to allow it something, as Last.fm's API has them do:
// https://www.last.fm/api/webauth
func asksConsent(r *players.Request) bool { return r.Path == "api/auth" && r.Method == http.MethodGet }

// consent leads a person to the page where they can.
func (d *Door) consent(w http.ResponseWriter, r *players.Request) {
	asked := url.Values{}
	for _, name := range []string{"api_key", "token", "cb"} {
		asked.Set(name, r.URL.Query().Get(name))
	}
	http.Redirect(w, r.Request, d.base()+allowPath+"?"+asked.Encode(), http.StatusSeeOther)
}

// ownPath begins the path of one player, which its secret follows.
const ownPath = "/p/"

// Serve answers a request if it is a player's, and reports whether it is.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request) bool {
	one, of := d.find(r)
	if of == nil {
		return false
	}
	h := w.Header()
	for name, value := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Authorization, Content-Type",
		"Access-Control-Allow-Methods": "GET, POST, OPTIONS", "Access-Control-Max-Age": "21600",
		"Access-Control-Expose-Headers": "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset-In",
		"Cache-Control":                 "no-store", "X-Content-Type-Options": "nosniff",
	} {
		h.Set(name, value)
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	size := r.ContentLength
	if size < 0 || size > bodiesAtOnce {
		size = bodiesAtOnce
	}
	ctx, cancel := context.WithTimeout(r.Context(), roomWithin)
	defer cancel()
	if d.room.Acquire(ctx, size) != nil {
		players.Trouble{Wait: roomWithin}.Announce(h)
		http.Error(w, "Reprise is busy. Try again later.", http.StatusServiceUnavailable)
		return true
	}
	defer d.room.Release(size)
	of.serve(w, one)
	return true
}

// find returns a request as its protocol reads it, and that protocol; nil for a request of something else. What is
// below the path of base_url is found there and at the host's root: some programs lose the path of an address.
func (d *Door) find(r *http.Request) (*players.Request, *protocol) {
	for _, base := range []string{"", d.base()} {
		path, below := strings.CutPrefix(r.URL.Path, base)
		if !below || path != "" && path[0] != '/' {
			continue
		}
		one := &players.Request{Request: r, Root: base, Address: d.address(r)}
		if rest, own := strings.CutPrefix(path, ownPath); own {
			secret, below, _ := strings.Cut(rest, "/")
			one.Secret, path = secret, below
			one.Root += ownPath + secret
		}
		one.Path = strings.Trim(path, "/")
		for i := range d.protocols {
			if p := &d.protocols[i]; p.serves(one) || one.Secret != "" && i == len(d.protocols)-1 {
				return one, p
			}
		}
	}
	return nil, nil
}
