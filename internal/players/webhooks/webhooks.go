// Package webhooks takes what media servers, a browser and scripts tell of something that is being played.
//
// Their events carry no play: when one began and how much of it was heard follows from the events of one item; see
// [players.Underway]. What is not music is taken and left alone.
package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reprise/internal/bounded"
	"reprise/internal/library"
	"reprise/internal/players"
)

// Store keeps what people think of tracks.
type Store interface {
	SaveLove(ctx context.Context, user int64, v library.Love) error
}

// Handler takes events.
type Handler struct {
	desk  *players.Desk
	store Store
}

// New returns a Handler.
func New(desk *players.Desk, store Store) *Handler { return &Handler{desk: desk, store: store} }

// reader reads the body of an event. It returns whose it is, by the name at the server, and the events in it; none for
// what is no music.
type reader func(body []byte) (user string, all []players.Event, err error)

// readers are those of each path.
var readers = map[string]reader{"jellyfin": jellyfin, "plex": plex, "tautulli": tautulli, "emby": emby,
	"webscrobbler": webScrobbler, "json": plain}

// Serves reports whether a request is for this package.
func Serves(r *players.Request) bool { return readers[r.Path] != nil }

// mostBytes is the most that an event has; Plex sends a picture with some.
const mostBytes = 2 << 20

// Serve answers a request. Anything but 200 is a failure to Web Scrobbler.
func (h *Handler) Serve(w http.ResponseWriter, r *players.Request) {
	p, err := h.take(r)
	status, body := http.StatusOK, map[string]string{"status": "ok"}
	if err != nil {
		t := players.TroubleOf(r.Context(), err)
		if h.desk.Refused(r, p, err) == players.NoMethod {
			w.Header().Set("Allow", http.MethodPost)
			t.Status = http.StatusMethodNotAllowed
		}
		t.Announce(w.Header())
		status, body = t.Status, map[string]string{"status": "failed", "error": t.Text}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (h *Handler) take(r *players.Request) (p players.Player, err error) {
	if p, err = h.desk.Admit(r, r.Token()); err != nil {
		return p, err
	}
	if r.Method != http.MethodPost {
		return p, &players.Refused{Why: players.NoMethod}
	}
	body, err := bodyOf(r)
	if err != nil {
		return p, err
	}
	if err := bounded.JSON(body, bounded.Answer); err != nil {
		return p, &players.Refused{Why: players.TooLarge, Detail: err.Error()}
	}
	user, all, err := readers[r.Path](body)
	if only := r.URL.Query().Get("user"); only != "" && !strings.EqualFold(only, user) {
		if err == nil { // somebody else's, who plays on the same server
			h.desk.LeftAlone(r, p, players.NotTheirs)
		}
		return p, err
	}
	if err == nil && len(all) == 0 {
		h.desk.LeftAlone(r, p, players.NoMusic)
	}
	for _, e := range all {
		if err == nil {
			err = e.Play.Named()
		}
		if err == nil {
			err = h.event(r.Context(), p, e)
		}
	}
	return p, err
}

// event stores what follows from an event.
func (h *Handler) event(ctx context.Context, p players.Player, e players.Event) error {
	love := library.Love{Title: e.Play.Title, Artist: e.Play.Artist, Score: library.Loved, At: time.Now()}
	switch e.What {
	case players.Unloved:
		love.Score = 0
		return h.store.SaveLove(ctx, p.User, love)
	case players.Loved:
		return h.store.SaveLove(ctx, p.User, love)
	}
	return h.desk.TakeEvent(ctx, p, e)
}

// parts are the fields of a form in which servers send their JSON.
var parts = []string{"payload", "data"}

// bodyOf returns the JSON of a request: its body, or a field of the form in it.
func bodyOf(r *players.Request) ([]byte, error) {
	kind, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return r.Read(mostBytes)
	}
	form := multipart.NewReader(io.LimitReader(r.Body, mostBytes), parameters["boundary"])
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil, unread("The form has none of the fields payload and data.")
		}
		for _, name := range parts {
			if part.FormName() == name {
				b, err := io.ReadAll(part)
				if err != nil {
					err = unread("The form ends early.")
				}
				return b, err
			}
		}
	}
}

func unread(detail string) error { return &players.Refused{Why: players.Unread, Detail: detail} }

// decode reads JSON into v.
func decode(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	if len(bytes.TrimSpace(body)) == 0 {
		return unread("The body is empty.")
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return unread("It is no JSON: the error is at byte " + strconv.FormatInt(e.Offset, 10) + ".")
	}
	if err != nil {
		return unread("It is JSON, but not an object as this address takes.")
	}
	return nil
}
