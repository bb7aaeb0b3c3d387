// Package lastfm answers players that speak Last.fm's API 2.0.
//
// Its methods and codes are those of https://www.last.fm/api. Most programs that let people change the address send an
// API key of their own, whose secret only they know: a signature is checked where Reprise gave the key out.
package lastfm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
)

// Store is what players may read of their person.
type Store interface {
	FindListens(ctx context.Context, f library.ListenFilter, before string, limit int) ([]library.StoredListen, string,
		error)
	CountFound(ctx context.Context, f library.ListenFilter) (int, error)
	HistoryOf(ctx context.Context, user int64) (first, latest time.Time, err error)
	SaveLove(ctx context.Context, user int64, v library.Love) error
	Loves(ctx context.Context, f library.LoveFilter, offset, limit int) (page []library.Love, total int, err error)
}

// Handler answers in Last.fm's words.
type Handler struct {
	desk  *players.Desk
	store Store
}

// New returns a Handler.
func New(desk *players.Desk, store Store) *Handler { return &Handler{desk: desk, store: store} }

// Serves reports whether a request is for this protocol.
func Serves(r *players.Request) bool { return r.Path == "2.0" }

// The limits of Last.fm.
const (
	mostPlays = 50
	mostBytes = 512 << 10
)

// The codes of https://www.last.fm/api/errorcodes that are used here.
const (
	invalidMethod    = 3
	authFailed       = 4
	invalidParameter = 6
	invalidSession   = 9
	offline          = 11 // clients repeat what was answered with it
	invalidSignature = 13
	notAllowed       = 14 // of a token that nobody has allowed yet
)

// The methods of https://www.last.fm/api/authspec by which a program gets a session key.
const (
	bySecret  = "auth.getmobilesession"
	getToken  = "auth.gettoken"
	byConsent = "auth.getsession" // after its person has allowed the token
)

// problem is an error with its code.
type problem struct {
	code int
	text string
}

func (p *problem) Error() string { return p.text }

// call is a request with its parameters, from wherever they came.
type call struct {
	*players.Request
	values url.Values
}

// Serve answers a request.
func (h *Handler) Serve(w http.ResponseWriter, r *players.Request) {
	c := call{Request: r, values: r.URL.Query()}
	var p players.Player
	answer, err := func() (any, error) {
		body, err := r.Read(mostBytes)
		if err != nil {
			return nil, err
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, &problem{invalidParameter, "Invalid parameters: the body cannot be read."}
		}
		maps.Copy(c.values, form)
		if p, err = h.admit(c); err != nil {
			return nil, err
		}
		return h.do(c, p)
	}()
	if err != nil {
		h.fail(w, c, p, err)
		return
	}
	c.send(w, http.StatusOK, answer)
}

func (h *Handler) fail(w http.ResponseWriter, c call, p players.Player, err error) {
	var said *problem
	status := http.StatusBadRequest
	if h.desk.Refused(c.Request, p, err) == players.BadSign {
		said = &problem{invalidSignature, "Invalid method signature supplied"}
	}
	switch t := players.TroubleOf(c.Context(), err); {
	case said != nil || errors.As(err, &said):
	case errors.Is(err, players.ErrUnknown):
		status, said = http.StatusForbidden, &problem{invalidSession, "Invalid session key - Please re-authenticate"}
		if c.method() == bySecret {
			said = &problem{authFailed, "Authentication Failed - You do not have permissions to access the service"}
		}
	case errors.Is(err, players.ErrNotAllowed):
		status, said = http.StatusForbidden,
			&problem{notAllowed, "Unauthorized Token - This token has not been authorized"}
	case t.Status == http.StatusServiceUnavailable:
		t.Announce(w.Header())
		status, said = t.Status, &problem{offline, "Service Offline - " + t.Text}
	default:
		said = &problem{invalidParameter, "Invalid parameters: " + t.Text}
	}
	c.send(w, status, said)
}

func (c call) method() string { return strings.ToLower(c.values.Get("method")) }

// json reports whether the client wants JSON.
func (c call) json() bool {
	return strings.EqualFold(c.values.Get("format"), "json") ||
		strings.Contains(c.Header.Get("Accept"), "application/json")
}

// admit finds the player of a call, and checks the signature where it can be.
func (h *Handler) admit(c call) (p players.Player, err error) {
	v := c.values
	switch {
	case c.method() == getToken:
		err = h.desk.Stranger(c.Request)
	case c.method() == byConsent:
		p, err = h.desk.Redeem(c.Request, v.Get("token"))
	case c.Secret != "":
		p, err = h.desk.Admit(c.Request, c.Secret)
	case c.method() == bySecret && v.Get("authToken") != "":
		p, err = h.desk.AdmitProof(c.Request, v.Get("username"), func(proof string) bool {
			return strings.EqualFold(v.Get("authToken"), players.MD5(v.Get("username")+proof))
		})
	case c.method() == bySecret:
		p, err = h.desk.Admit(c.Request, v.Get("password"))
	default:
		p, err = h.desk.Admit(c.Request, v.Get("sk"))
	}
	if err != nil {
		return p, err
	}
	owner, err := h.desk.ByKey(c.Context(), v.Get("api_key"))
	switch {
	case errors.Is(err, players.ErrUnknown): // a key of the client's own
		return p, nil
	case err != nil:
		return p, err
	case !strings.EqualFold(v.Get("api_sig"), signature(v, players.APISecret(owner.Proof))):
		return p, &players.Refused{Why: players.BadSign}
	}
	return p, nil
}

// signature returns what the parameters are signed with: https://www.last.fm/api/authspec#8
func signature(v url.Values, secret string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if name != "format" && name != "callback" && name != "api_sig" {
			text.WriteString(name + v.Get(name))
		}
	}
	return players.MD5(text.String() + secret)
}

func (h *Handler) do(c call, p players.Player) (any, error) {
	switch c.method() {
	case getToken:
		return token{Text: players.NewSecret()}, nil
	case bySecret, byConsent:
		key := cmp.Or(c.Secret, c.values.Get("password"))
		if p.Proof != "" {
			key = players.SessionKey(p.Proof)
		}
		return session{Name: p.UserName, Key: key}, nil
	case "track.scrobble":
		return h.scrobble(c, p)
	case "track.updatenowplaying":
		play := playOf(c.values, "")
		play.At = time.Now()
		if err := play.Check(time.Now()); err != nil {
			return nil, err
		}
		h.desk.Playing(p, play)
		return nowPlaying{names: namesOf(play), Ignored: taken}, nil
	case "track.love":
		return h.love(c, p, library.Loved)
	case "track.unlove":
		return h.love(c, p, library.Unrated)
	case "user.getlovedtracks":
		return h.loved(c, p)
	case "user.getinfo":
		return h.info(c, p)
	case "user.getrecenttracks":
		return h.recent(c, p)
	}
	return nil, &problem{invalidMethod, "Invalid Method - No method with that name in this package"}
}

// scrobble takes up to 50 plays, and says of each whether it was taken.
func (h *Handler) scrobble(c call, p players.Player) (any, error) {
	now := time.Now()
	var all []players.Play
	if c.values.Has("track") || c.values.Has("artist") {
		all = append(all, playOf(c.values, ""))
	}
	for i := range mostPlays + 1 {
		at := fmt.Sprintf("[%d]", i)
		if !c.values.Has("track"+at) && !c.values.Has("artist"+at) {
			continue
		}
		if len(all) == mostPlays {
			return nil, &players.Refused{Why: players.TooLarge, Detail: "There are more than 50 plays."}
		}
		all = append(all, playOf(c.values, at))
	}
	if len(all) == 0 {
		return nil, &problem{invalidParameter, "Invalid parameters - Your request is missing a required parameter"}
	}
	out := scrobbles{Each: make([]scrobble, len(all))}
	var plays []players.Play
	for i, play := range all {
		out.Each[i] = scrobble{names: namesOf(play), Timestamp: strconv.FormatInt(max(play.At.Unix(), 0), 10),
			Ignored: taken}
		if err := play.Check(now); err != nil {
			out.Each[i].Ignored = ignoredFor(h.desk.Refused(c.Request, p, err))
			out.Ignored++
			continue
		}
		plays = append(plays, play)
	}
	out.Accepted = len(plays)
	return out, h.desk.Take(c.Context(), p, plays)
}

// ignoredFor returns why one of several plays was not taken: https://www.last.fm/api/show/track.scrobble
func ignoredFor(why players.Reason) ignored {
	code := map[players.Reason]int{players.NoArtist: 1, players.NoTitle: 2, players.TooOld: 3, players.TooNew: 4}[why]
	return ignored{Code: strconv.Itoa(code), Text: why.Text()}
}

func playOf(v url.Values, at string) players.Play {
	seconds, _ := strconv.Atoi(v.Get("duration" + at))
	p := players.Play{Track: library.Track{Title: v.Get("track" + at), Artist: v.Get("artist" + at),
		Album: v.Get("album" + at), RecordingMBID: v.Get("mbid" + at),
		Duration: time.Duration(seconds) * time.Second}}
	if began, err := strconv.ParseInt(v.Get("timestamp"+at), 10, 64); err == nil {
		p.At = time.Unix(began, 0).UTC()
	}
	return p
}

// love stores that a person loves a track, or no more.
func (h *Handler) love(c call, p players.Player, score int) (any, error) {
	t := playOf(c.values, "").Track
	if t.Title == "" || t.Artist == "" {
		return nil, &problem{invalidParameter, "Invalid parameters - Your request is missing a required parameter"}
	}
	return nothing{}, h.store.SaveLove(c.Context(), p.User, library.Love{Title: t.Title, Artist: t.Artist,
		RecordingMBID: t.RecordingMBID, Score: score, At: time.Now()})
}

func (h *Handler) loved(c call, p players.Player) (any, error) {
	page, limit := c.page()
	of := library.LoveFilter{User: p.User, Score: library.Loved}
	all, total, err := h.store.Loves(c.Context(), of, (page-1)*limit, limit)
	return lovedTracks{recentlyPlayed{User: p.UserName, Page: page, PerPage: limit, Total: total,
		Pages: (total + limit - 1) / limit}, all}, err
}

// page returns the page that is asked for, from 1, and how much it has.
func (c call) page() (page, limit int) {
	limit, err := strconv.Atoi(c.values.Get("limit"))
	if err != nil || limit < 1 {
		limit = recentTracks
	}
	page, err = strconv.Atoi(c.values.Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	return page, min(limit, mostRecent)
}

func (h *Handler) info(c call, p players.Player) (any, error) {
	n, err := h.store.CountFound(c.Context(), library.ListenFilter{User: p.User})
	if err != nil {
		return nil, err
	}
	first, _, err := h.store.HistoryOf(c.Context(), p.User)
	return userInfo{Name: p.UserName, RealName: p.UserName, URL: c.Base() + "/listening", Plays: n,
		Registered: registered{Unix: max(first.Unix(), 0)}}, err
}

// The sizes of a page of recent tracks, and how many pages there are.
const (
	recentTracks = 50
	mostRecent   = 200
	mostPages    = 200 // a page is reached by reading those before it
)

func (h *Handler) recent(c call, p players.Player) (any, error) {
	page, limit := c.page()
	f := library.ListenFilter{User: p.User}
	if ts, err := strconv.ParseInt(c.values.Get("from"), 10, 64); err == nil {
		f.From = time.Unix(ts, 0).UTC()
	}
	if ts, err := strconv.ParseInt(c.values.Get("to"), 10, 64); err == nil {
		f.To = time.Unix(ts+1, 0).UTC()
	}
	total, err := h.store.CountFound(c.Context(), f)
	if err != nil {
		return nil, err
	}
	out := recentlyPlayed{User: p.UserName, Page: page, PerPage: limit, Total: total,
		Pages: (total + limit - 1) / limit}
	next := ""
	for n := 1; n <= min(page, out.Pages) && page <= mostPages; n++ {
		all, more, err := h.store.FindListens(c.Context(), f, next, limit)
		if err != nil {
			return nil, err
		}
		if n == page {
			for _, l := range all {
				out.Tracks = append(out.Tracks, recentTrack{Artist: l.Artist, Name: l.Title, Album: l.Album,
					At: l.PlayedAt})
			}
		}
		next = more
	}
	if page == 1 {
		for _, one := range h.desk.Now().Of(p.User) {
			out.Tracks = slices.Insert(out.Tracks, 0, recentTrack{Artist: one.Track.Artist, Name: one.Track.Title,
				Album: one.Track.Album, Now: true})
			break
		}
	}
	return out, nil
}
