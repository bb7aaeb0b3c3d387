// Package audioscrobbler answers players that speak AudioScrobbler 1.2.1, as small and old ones do.
//
// Every answer has the status 200, and its first line is exactly one of the protocol's words: any other status, and
// any other line, is a failure that players repeat.
package audioscrobbler

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
)

// Handler answers in AudioScrobbler's words.
type Handler struct{ desk *players.Desk }

// New returns a Handler.
func New(desk *players.Desk) *Handler { return &Handler{desk: desk} }

// The paths that a handshake names.
const (
	nowPath    = "np_1.2"
	submitPath = "protocol_1.2"
)

// Serves reports whether a request is for this protocol.
func Serves(r *players.Request) bool {
	return r.Path == nowPath || r.Path == submitPath || r.Path == "" && r.URL.Query().Get("hs") == "true"
}

// The limits of a submission.
const (
	mostPlays = 50
	mostBytes = 512 << 10
)

// Serve answers a request.
func (h *Handler) Serve(w http.ResponseWriter, r *players.Request) {
	lines, p, err := h.answer(r)
	if err != nil {
		lines = []string{h.word(r, p, err)}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n")
}

// errSession says that a session id is not, or no longer, one of ours.
var errSession = errors.New("unknown session")

// word returns what the protocol says about an error.
func (h *Handler) word(r *players.Request, p players.Player, err error) string {
	switch {
	case errors.Is(err, errSession):
		return "BADSESSION"
	case errors.Is(err, players.ErrUnknown):
		return "BADAUTH"
	}
	h.desk.Refused(r, p, err)
	return "FAILED " + players.TroubleOf(r.Context(), err).Text
}

func (h *Handler) answer(r *players.Request) (lines []string, p players.Player, err error) {
	if r.Path == "" {
		return h.greet(r)
	}
	body, err := r.Read(mostBytes)
	if err != nil {
		return nil, p, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		form = url.Values{}
	}
	if p, err = h.desk.Admit(r, cmp.Or(r.Secret, form.Get("s"))); err != nil {
		if errors.Is(err, players.ErrUnknown) && r.Secret == "" {
			err = errSession
		}
		return nil, p, err
	}
	now := time.Now()
	if r.Path == nowPath {
		play := playOf(form, "")
		play.At = now
		if err := play.Check(now); err != nil {
			return nil, p, err
		}
		h.desk.Playing(p, play)
		return []string{"OK"}, p, nil
	}
	var plays []players.Play
	for i := range mostPlays {
		at := fmt.Sprintf("[%d]", i)
		if !form.Has("a"+at) && !form.Has("t"+at) {
			continue
		}
		play := playOf(form, at)
		if h.desk.Refused(r, p, play.Check(now)) != "" {
			continue // the protocol has no word for one of several
		}
		plays = append(plays, play)
	}
	return []string{"OK"}, p, h.desk.Take(r.Context(), p, plays)
}

// greet answers a handshake: with the session, and with where to send what.
func (h *Handler) greet(r *players.Request) ([]string, players.Player, error) {
	q := r.URL.Query()
	var p players.Player
	var err error
	if secret := cmp.Or(r.Secret, q.Get("sk")); secret != "" {
		p, err = h.desk.Admit(r, secret)
	} else {
		p, err = h.desk.AdmitProof(r, q.Get("u"), func(proof string) bool {
			return strings.EqualFold(q.Get("a"), players.MD5(proof+q.Get("t")))
		})
	}
	if err != nil {
		return nil, p, err
	}
	session := "by-the-path" // of a player without a proof, which is known by its own path
	if p.Proof != "" {
		session = players.SessionKey(p.Proof)
	}
	root := r.Base() + r.Root
	return []string{"OK", session, root + "/" + nowPath, root + "/" + submitPath}, p, nil
}

// playOf returns the play with an index; "" for that of what is playing now.
func playOf(form url.Values, at string) players.Play {
	seconds, _ := strconv.Atoi(form.Get("l" + at))
	p := players.Play{Track: library.Track{Title: form.Get("t" + at), Artist: form.Get("a" + at),
		Album: form.Get("b" + at), RecordingMBID: form.Get("m" + at), Duration: time.Duration(seconds) * time.Second}}
	if began, err := strconv.ParseInt(form.Get("i"+at), 10, 64); err == nil {
		p.At = time.Unix(began, 0).UTC()
	}
	return p
}
