// Package listenbrainz answers players that speak ListenBrainz' API.
//
// Its paths, limits and words are those of https://listenbrainz.readthedocs.io/en/latest/users/api/core.html. A
// submission is also taken at the base and at the base with /1, because programs differ in what they append to an
// address that somebody types. No request is answered with 429; see [players.Trouble].
package listenbrainz

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reprise/internal/bounded"
	"reprise/internal/library"
	"reprise/internal/players"
)

// Store is what players may read of their person.
type Store interface {
	FindListens(ctx context.Context, f library.ListenFilter, before string, limit int) ([]library.StoredListen, string,
		error)
	// HistoryOf returns when a person's first and latest listens began; zero without any.
	HistoryOf(ctx context.Context, user int64) (first, latest time.Time, err error)
	CountFound(ctx context.Context, f library.ListenFilter) (int, error)
	// DeleteListens deletes listens, or returns library.ErrNotFound.
	DeleteListens(ctx context.Context, v library.Selection) (library.Correction, error)
	SaveLove(ctx context.Context, user int64, v library.Love) error
	Loves(ctx context.Context, f library.LoveFilter, offset, limit int) (page []library.Love, total int, err error)
	TrackByMBID(ctx context.Context, mbid string) (library.Track, error)
	TrackNamed(ctx context.Context, is func(library.Track) bool) (library.Track, error)
	// ForwardingAccount names the account of a person here to other installations of Reprise.
	ForwardingAccount(user int64) string
}

// Handler answers in ListenBrainz' words.
type Handler struct {
	desk  *players.Desk
	store Store
}

// New returns a Handler.
func New(desk *players.Desk, store Store) *Handler { return &Handler{desk: desk, store: store} }

// Serves reports whether a request is for this protocol.
func Serves(r *players.Request) bool {
	if r.Path == "1" || strings.HasPrefix(r.Path, "1/") {
		return true
	}
	return r.Path == "" && r.Method == http.MethodPost && r.Token() != "" // the base as it was typed
}

// The limits of ListenBrainz.
const (
	mostListens = 1000
	mostBytes   = 10_240_000
	bytesEach   = 10_240
	shownAtOnce = 25
)

// Serve answers a request.
func (h *Handler) Serve(w http.ResponseWriter, r *players.Request) {
	if strings.TrimSuffix(r.Path, "/") == "1/validate-token" {
		h.validate(w, r)
		return
	}
	p, err := h.desk.Admit(r, r.Token())
	if err == nil {
		h.limits(w, p)
		err = h.route(w, r, p)
	}
	if err != nil {
		h.fail(w, r, p, err)
	}
}

func (h *Handler) limits(w http.ResponseWriter, p players.Player) {
	limit, left, reset := h.desk.Allowance(p)
	for name, n := range map[string]int{"Limit": limit, "Remaining": left, "Reset-In": int(reset.Seconds()),
		"Reset": int(time.Now().Add(reset).Unix())} {
		w.Header().Set("X-RateLimit-"+name, strconv.Itoa(n))
	}
}

func (h *Handler) route(w http.ResponseWriter, r *players.Request, p players.Player) error {
	path := strings.TrimPrefix(strings.TrimPrefix(r.Path, "1"), "/")
	user, what, _ := strings.Cut(strings.TrimPrefix(path, "user/"), "/")
	method, call := http.MethodGet, (func() error)(nil)
	switch {
	case path == "" || path == "submit-listens":
		method, call = http.MethodPost, func() error { return h.submit(w, r, p) }
	case path == "playing-now/delete":
		method, call = http.MethodPost, func() error {
			h.desk.Silent(p, library.Track{})
			return ok(w)
		}
	case path == "delete-listen":
		method, call = http.MethodPost, func() error { return h.remove(w, r, p) }
	case path == "feedback/recording-feedback":
		method, call = http.MethodPost, func() error { return h.love(w, r, p) }
	case path == "feedback/user/"+p.UserName+"/get-feedback":
		call = func() error { return h.loves(w, r, p) }
	case path == "latest-import" && r.Method == http.MethodPost:
		method, call = http.MethodPost, func() error { return ok(w) } // what was imported is known by itself
	case path == "latest-import":
		call = func() error { return h.latest(w, r, p) }
	case strings.HasPrefix(path, "user/") && !strings.EqualFold(user, p.UserName):
		return answer(w, http.StatusNotFound, failure{http.StatusNotFound, "Cannot find user: " + user})
	case what == "listens":
		call = func() error { return h.listens(w, r, p) }
	case what == "listen-count":
		call = func() error { return h.count(w, r, p) }
	case what == "playing-now":
		call = func() error { return h.playing(w, p) }
	default:
		return &players.Refused{Why: players.NoAddress}
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		return &players.Refused{Why: players.NoMethod}
	}
	return call()
}

// failure is how ListenBrainz says that something went wrong.
type failure struct {
	Code  int    `json:"code"`
	Error string `json:"error"`
}

func (h *Handler) fail(w http.ResponseWriter, r *players.Request, p players.Player, err error) {
	t := players.TroubleOf(r.Context(), err)
	switch h.desk.Refused(r, p, err) {
	case players.NoAddress:
		t.Status = http.StatusNotFound
	case players.NoMethod:
		t.Status = http.StatusMethodNotAllowed
	}
	t.Announce(w.Header())
	_ = answer(w, t.Status, failure{t.Status, t.Text})
}

func answer(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the play is stored, whether or not the answer arrives
	return nil
}

func ok(w http.ResponseWriter) error {
	return answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// validate says whether a token is right. A wrong one gets status 200, too, as at ListenBrainz.
func (h *Handler) validate(w http.ResponseWriter, r *players.Request) {
	token := r.Token()
	if token == "" {
		token = r.URL.Query().Get("token")
	}
	if token == "" {
		_ = answer(w, http.StatusBadRequest, failure{http.StatusBadRequest,
			"You need to provide an Authorization token."})
		return
	}
	p, err := h.desk.Admit(r, token)
	if refused, is := errors.AsType[*players.Refused](err); is && refused.Why == players.Paused {
		err = nil // the token is right
	}
	type validity struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Valid   bool   `json:"valid"`
		User    string `json:"user_name,omitempty"`
		Account string `json:"reprise_account,omitempty"` // ours; see library.ForwardingAccount
	}
	switch {
	case err == nil:
		_ = answer(w, http.StatusOK, validity{http.StatusOK, "Token valid.", true, p.UserName,
			h.store.ForwardingAccount(p.User)})
	case errors.Is(err, players.ErrUnknown):
		h.desk.Refused(r, p, err)
		_ = answer(w, http.StatusOK, validity{Code: http.StatusOK, Message: "Token invalid."})
	default:
		h.fail(w, r, p, err)
	}
}

func (h *Handler) submit(w http.ResponseWriter, r *players.Request, p players.Player) error {
	body, err := r.Read(mostBytes)
	if err != nil {
		if errors.Is(err, players.ErrTooLarge) {
			err = &players.Refused{Why: players.TooLarge}
		}
		return err
	}
	s, err := Read(body, time.Now())
	if err != nil {
		return err
	}
	if s.Now {
		h.desk.Playing(p, s.Plays[0])
	} else if err := h.desk.Take(r.Context(), p, s.Plays); err != nil {
		return err
	}
	if r.URL.Query().Get("return_msid") == "true" {
		return answer(w, http.StatusOK, map[string]string{"status": "ok", "recording_msid": msid(s.Plays[0].Track)})
	}
	return ok(w)
}

// smallBody bounds what is not a submission, in bytes.
const smallBody = 4 << 10

// remove deletes a listen that the player has sent, which its person can undo. One that is not there is no error, as at
// ListenBrainz.
func (h *Handler) remove(w http.ResponseWriter, r *players.Request, p players.Player) error {
	body, err := r.Read(smallBody)
	if err != nil {
		return err
	}
	var in struct {
		At   number `json:"listened_at"`
		MSID text   `json:"recording_msid"`
	}
	if json.Unmarshal(body, &in) != nil || in.MSID == "" || in.At <= 0 || in.At > math.MaxInt32*10 {
		return unread("It has no listened_at or no recording_msid.")
	}
	at := time.Unix(int64(in.At), 0).UTC()
	found, _, err := h.store.FindListens(r.Context(), library.ListenFilter{User: p.User, Source: p.ID, From: at,
		To: at.Add(time.Second)}, "", mostListens)
	if err != nil {
		return err
	}
	v := library.Selection{ListenFilter: library.ListenFilter{User: p.User}}
	for _, l := range found {
		if msid(l.Track) == string(in.MSID) {
			v.IDs = append(v.IDs, l.ID)
		}
	}
	if len(v.IDs) > 0 {
		if _, err := h.store.DeleteListens(r.Context(), v); err != nil && !errors.Is(err, library.ErrNotFound) {
			return err
		}
	}
	return ok(w)
}

// bodies bounds a submission: a thousand listens, each with all that may be said of it.
var bodies = bounded.Limits{Depth: 16, Elements: 5_000, Fields: 200, String: 64 << 10, InAll: 200_000, Values: 400_000}
