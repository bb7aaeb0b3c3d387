package players

import (
	"context"
	"hash/maphash"
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
	"reprise/internal/throttle"
)

// Door is where players come in. It reads no cookie, allows any origin without credentials and any name of the host,
// because players use addresses that browsers don't. It is safe for concurrent use.
type Door struct {
	desk      *players.Desk
	protocols []protocol
	base      func() string // the path of base_url; empty without one
	address   func(*http.Request) string
	room      room
}

// protocol answers the requests of one.
type protocol struct {
	serves func(*players.Request) bool
	serve  func(http.ResponseWriter, *players.Request)
}

// The bytes of bodies that are read at the same time, and for how long a request waits for room. Most bodies are small.
// Large ones, with a part of a history, are read of players only, and have a room of their own, so that nobody who
// sends one slowly keeps out what somebody else plays.
const (
	smallBody  = 512 << 10
	smallRoom  = 4 << 20
	largeRoom  = 12 << 20
	shares     = 4 // the part of smallRoom that one address may fill, as a divisor
	networks   = 256
	roomWithin = 10 * time.Second
)

// room is where bodies are read.
type room struct {
	seed         maphash.Seed
	small, large *semaphore.Weighted
	of           [networks]*semaphore.Weighted // of smallRoom, by a hash of the network
}

func newRoom() room {
	r := room{seed: maphash.MakeSeed(), small: semaphore.NewWeighted(smallRoom),
		large: semaphore.NewWeighted(largeRoom)}
	for i := range r.of {
		r.of[i] = semaphore.NewWeighted(smallRoom / shares)
	}
	return r
}

// enter waits until there is room for a body, and returns what gives it back; nil if there was none within roomWithin.
func (r *room) enter(ctx context.Context, address string, size int64, large bool) (leave func()) {
	ctx, cancel := context.WithTimeout(ctx, roomWithin)
	defer cancel()
	if large {
		if r.large.Acquire(ctx, size) != nil {
			return nil
		}
		return func() { r.large.Release(size) }
	}
	near, _ := throttle.Networks(address)
	of := r.of[maphash.String(r.seed, near)%networks]
	if of.Acquire(ctx, size) != nil {
		return nil
	}
	if r.small.Acquire(ctx, size) != nil {
		of.Release(size)
		return nil
	}
	return func() { r.small.Release(size); of.Release(size) }
}

// NewDoor returns a Door. base returns the path of base_url, and address whose connection a request came through.
func NewDoor(desk *players.Desk, store listenbrainz.Store, base func() string,
	address func(*http.Request) string) *Door {
	d := &Door{base: base, address: address, desk: desk, room: newRoom()}
	d.protocols = []protocol{
		{asksConsent, d.consent},
		{webhooks.Serves, webhooks.New(desk, store).Serve},
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

// Takes reports whether a request is a player's.
func (d *Door) Takes(r *http.Request) bool {
	_, of := d.find(r)
	return of != nil
}

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
	large := (size < 0 || size > smallBody) && d.desk.Knows(r.Context(), one.Token())
	switch {
	case large && (size < 0 || size > largeRoom):
		size = largeRoom
	case !large && (size < 0 || size > smallBody):
		size = smallBody
		r.Body = http.MaxBytesReader(w, r.Body, smallBody+1) // so that a protocol sees that it is too much
	}
	leave := d.room.enter(r.Context(), one.Address, size, large)
	if leave == nil {
		players.Trouble{Wait: roomWithin}.Announce(h)
		http.Error(w, "Reprise is busy. Try again later.", http.StatusServiceUnavailable)
		return true
	}
	defer leave()
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
		// Many programs put a slash behind an address that ends with one.
		one.Path = strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '/' }), "/")
		if below, twice := strings.CutPrefix(one.Path, "1/1/"); twice { // the program adds it to an address that has it
			one.Path = "1/" + below
		}
		for i := range d.protocols {
			if p := &d.protocols[i]; p.serves(one) || one.Secret != "" && i == len(d.protocols)-1 {
				return one, p
			}
		}
	}
	return d.astray(r)
}

// astray returns a play that a player sends to an address at which nothing answers, so that it gets no page in its
// answer, and its person sees why nothing arrives.
func (d *Door) astray(r *http.Request) (*players.Request, *protocol) {
	api := strings.HasPrefix(strings.TrimPrefix(r.URL.Path, d.base()), "/api/")
	if r.Method != http.MethodPost || r.Header.Get("Authorization") == "" || api {
		return nil, nil
	}
	one := &players.Request{Request: r, Path: strings.Trim(r.URL.Path, "/"), Address: d.address(r)}
	if !d.desk.Knows(r.Context(), one.Token()) {
		return nil, nil
	}
	return one, &d.protocols[len(d.protocols)-1]
}
