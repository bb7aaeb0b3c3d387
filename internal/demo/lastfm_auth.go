package demo

import (
	"context"
	"crypto/rand"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// LastFMServer is the address of the simulated Last.fm.
type LastFMServer struct {
	URL          string // of the API, with /2.0/
	AuthURL      string
	ClientID     string // the API key of the only app that is registered
	ClientSecret string // its shared secret
	lf           *lastFM
}

// Authorize returns what the consent page leads to, without a browser: a session key of the account.
func (s LastFMServer) Authorize(account string) string {
	s.lf.mu.Lock()
	defer s.lf.mu.Unlock()
	s.lf.heal()
	return s.lf.sessionLocked(account)
}

// Scrobbles returns what was accepted by track.scrobble, in the order of arrival, repeats included.
func (s LastFMServer) Scrobbles() []Play {
	s.lf.mu.Lock()
	defer s.lf.mu.Unlock()
	return slices.Clone(s.lf.arrived)
}

// Listens returns the account's whole history, oldest first. A play that was sent twice, with the same second, artist
// and title, is there once.
func (s LastFMServer) Listens(account string) []Play {
	return s.lf.home.history(account, func(p *person) []play { return p.scrobbled })
}

type lastFM struct {
	*gate
	home                *household
	clientID, sharedKey string

	mu       sync.Mutex
	tokens   map[string]lastToken
	sessions map[string]*lastSession // by key
	arrived  []Play
}

// lastToken is a consent that has not been turned into a session yet.
type lastToken struct {
	account string
	expires time.Time
}

// lastSession lasts until the account revokes it.
type lastSession struct {
	account string
	dead    bool
}

func (w *World) startLastFM(ctx context.Context) (err error) {
	lf := &lastFM{
		home: w.home, clientID: md5Hex("reprise-demo"), sharedKey: md5Hex("reprise-demo secret"),
		tokens: map[string]lastToken{}, sessions: map[string]*lastSession{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/", lf.consent)
	mux.HandleFunc("POST /api/auth/", lf.decide)
	mux.HandleFunc("GET /consent.css", serveConsentCSS)
	mux.HandleFunc("POST /2.0/", lf.api)
	mux.HandleFunc("GET /2.0/", lf.api)
	lf.gate = w.newGate(ctx, rules{who: lf.who, refuse: lf.refuse, next: mux.ServeHTTP,
		concern: func(r *http.Request, _ Mode) bool {
			return r.URL.Path == "/2.0/" // the modes leave the pages alone
		}}, WrongAccount, Hidden, DailyLimit, Suspended)
	w.revoke[LastFM] = func() {
		lf.mu.Lock()
		defer lf.mu.Unlock()
		for _, s := range lf.sessions {
			s.dead = true
		}
	}
	base, err := w.serve(ctx, LastFM, lf.gate)
	w.LastFM = LastFMServer{
		URL:          base + "/2.0/",
		AuthURL:      base + "/api/auth/",
		ClientID:     lf.clientID,
		ClientSecret: lf.sharedKey,
		lf:           lf,
	}
	return err
}

// sessionLocked returns the session key of an account; Last.fm gives out the same one as long as it is good.
func (lf *lastFM) sessionLocked(account string) string {
	for key, s := range lf.sessions {
		if s.account == account && !s.dead {
			return key
		}
	}
	key := md5Hex(rand.Text())
	lf.sessions[key] = &lastSession{account: account}
	return key
}

// signedIn returns the account that the browser is signed in to.
func (lf *lastFM) signedIn() string {
	if m, _ := lf.current(); m == WrongAccount {
		return Bob
	}
	return Alice
}

// checkRequest answers an authorization request that is wrong, and reports whether it was right.
func (lf *lastFM) checkRequest(w http.ResponseWriter, r *http.Request) bool {
	callback, err := url.Parse(r.FormValue("cb"))
	switch {
	case r.FormValue("api_key") != lf.clientID:
		http.Error(w, "Invalid API key", http.StatusForbidden)
	case err != nil || callback.Host == "" || callback.Scheme != "https" &&
		!net.ParseIP(callback.Hostname()).IsLoopback():
		http.Error(w, "Invalid callback URL", http.StatusBadRequest)
	default:
		return true
	}
	return false
}

// consent shows the page on which a person agrees.
func (lf *lastFM) consent(w http.ResponseWriter, r *http.Request) {
	if lf.checkRequest(w, r) {
		consent{lf.home, "Last.fm", lf.signedIn(), []string{"See your listens, also those that you hide from others",
			"Add listens to your profile"}}.show(w, r)
	}
}

// decide takes the consent page's form. Tests may post it without the page: api_key and cb in the URL or in the form,
// decision ("agree" or "cancel") and account ("alice" or "bob", by default the one signed in). It redirects to cb,
// with a token if the person agreed.
func (lf *lastFM) decide(w http.ResponseWriter, r *http.Request) {
	if !lf.checkRequest(w, r) {
		return
	}
	account := r.FormValue("account")
	if account == "" {
		account = lf.signedIn()
	}
	to, _ := url.Parse(r.FormValue("cb")) // checkRequest has read it
	if r.FormValue("decision") == "agree" && lf.home.person(account) != nil {
		token := rand.Text()
		lf.mu.Lock()
		lf.tokens[token] = lastToken{account, lf.opts.Now().Add(time.Hour)}
		lf.mu.Unlock()
		lf.heal()
		q := to.Query()
		q.Set("token", token)
		to.RawQuery = q.Encode()
	}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// getSession turns a token into a session, once.
func (lf *lastFM) getSession(w http.ResponseWriter, form url.Values) {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	t, ok := lf.tokens[form.Get("token")]
	delete(lf.tokens, form.Get("token"))
	switch {
	case !ok:
		lastError(w, http.StatusForbidden, 14)
	case lf.opts.Now().After(t.expires):
		lastError(w, http.StatusForbidden, 15)
	default:
		writeJSON(w, http.StatusOK,
			object{"session": object{"subscriber": 0, "name": t.account, "key": lf.sessionLocked(t.account)}})
	}
}

// signature returns the right api_sig of a call.
func (lf *lastFM) signature(form url.Values) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if name != "format" && name != "callback" && name != "api_sig" {
			text.WriteString(name + form.Get(name))
		}
	}
	return md5Hex(text.String() + lf.sharedKey)
}

// who returns the account of the session key that r carries, even a revoked one.
func (lf *lastFM) who(r *http.Request) string {
	key, token := r.PostFormValue("sk"), r.PostFormValue("token")
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if s := lf.sessions[key]; s != nil {
		return s.account
	}
	return lf.tokens[token].account
}
