package demo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// SpotifyServer is where the simulated Spotify is.
type SpotifyServer struct {
	URL      string // of the API, without /v1
	AuthURL  string
	TokenURL string
	ClientID string // the only app that is registered; it has no secret
	sp       *spotify
}

// Authorize gives the app what the consent page would, without a browser: a token of the account with these scopes.
func (s SpotifyServer) Authorize(account string, scopes ...string) *oauth2.Token {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	s.sp.heal()
	g := &grant{account: account, scope: strings.Join(scopes, " "), refresh: rand.Text()}
	s.sp.grants[g.refresh] = g
	return &oauth2.Token{
		AccessToken: s.sp.accessLocked(g), RefreshToken: g.refresh, TokenType: "Bearer",
		Expiry: s.sp.opts.Now().Add(s.sp.opts.TokenLife),
	}
}

// Revoke ends every authorization that an account has given, as its page of apps does.
func (s SpotifyServer) Revoke(account string) {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	for _, g := range s.sp.grants {
		g.dead = g.dead || g.account == account
	}
}

// Withdraw makes Spotify offer the songs with these titles no more. Their places in playlists stay, and their marks.
func (s SpotifyServer) Withdraw(titles ...string) {
	s.sp.mu.Lock()
	defer s.sp.mu.Unlock()
	for _, title := range titles {
		s.sp.withdrawn[title] = true
	}
}

// offers reports whether Spotify offers a song.
func (sp *spotify) offers(id int) bool {
	t, _ := sp.home.song(id)
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return !sp.withdrawn[t.title]
}

// Recent returns the account's last 50 plays, oldest first.
func (s SpotifyServer) Recent(account string) []Play {
	return s.sp.home.history(account, func(p *person) []play { return p.spotify })
}

// grant is one consent. Its refresh token may be replaced at a refresh; the one before stays good until the new one is
// used, so that an answer that got lost loses nothing.
type grant struct {
	account, scope    string
	refresh, previous string
	refreshes         int
	dead              bool
}

type pendingCode struct {
	account, scope, redirect, challenge string
	expires                             time.Time
}

type accessToken struct {
	grant   *grant
	expires time.Time
}

type spotify struct {
	*gate
	home     *household
	url      string
	clientID string

	mu     sync.Mutex
	codes  map[string]pendingCode
	grants map[string]*grant // by refresh token
	access map[string]accessToken

	withdrawn map[string]bool // by title, see Withdraw
}

func (w *World) startSpotify(ctx context.Context) (err error) {
	sp := &spotify{
		home: w.home, clientID: "reprise-demo", codes: map[string]pendingCode{}, grants: map[string]*grant{},
		access: map[string]accessToken{}, withdrawn: map[string]bool{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", sp.consent)
	mux.HandleFunc("POST /authorize", sp.decide)
	mux.HandleFunc("GET /consent.css", serveConsentCSS)
	mux.HandleFunc("POST /api/token", sp.token)
	mux.HandleFunc("GET /v1/me", sp.api("", sp.me))
	mux.HandleFunc("GET /v1/me/player/recently-played", sp.api("user-read-recently-played", sp.recentlyPlayed))
	mux.HandleFunc("GET /v1/me/player/currently-playing",
		sp.api("user-read-currently-playing", sp.currentlyPlaying))
	mux.HandleFunc("GET /v1/me/tracks", sp.api("user-library-read", sp.liked))
	mux.HandleFunc("GET /v1/me/playlists", sp.api("playlist-read-private", sp.playlists))
	mux.HandleFunc("GET /v1/playlists/{id}/items", sp.api("playlist-read-private", sp.items))
	mux.HandleFunc("PUT /v1/me/library", sp.api("user-library-modify", sp.setLiked))
	mux.HandleFunc("DELETE /v1/me/library", sp.api("user-library-modify", sp.setLiked))
	mux.HandleFunc("GET /v1/search", sp.api("", sp.search))
	mux.HandleFunc("POST /v1/me/playlists", sp.api("playlist-modify-private", sp.createPlaylist))
	mux.HandleFunc("GET /v1/playlists/{id}", sp.api("playlist-read-private", sp.onePlaylist))
	mux.HandleFunc("PUT /v1/playlists/{id}", sp.api("playlist-modify-private", sp.renamePlaylist))
	mux.HandleFunc("PUT /v1/playlists/{id}/items", sp.api("playlist-modify-private", sp.putItems))
	mux.HandleFunc("POST /v1/playlists/{id}/items", sp.api("playlist-modify-private", sp.putItems))
	mux.HandleFunc("/v1/playlists/{id}/tracks", sp.api("", func(w http.ResponseWriter, _ *http.Request, _ *person) {
		spotifyError(w, http.StatusForbidden, "Forbidden")
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		spotifyError(w, http.StatusNotFound, "Service not found")
	})
	sp.gate = w.newGate(ctx, rules{who: sp.who, refuse: sp.refuse, next: mux.ServeHTTP,
		concern: func(r *http.Request, m Mode) bool {
			// The accounts service is another one: its pages stay, and it does not share the API's rate limit.
			return r.URL.Path != "/authorize" && r.URL.Path != "/consent.css" &&
				(m != RateLimited || r.URL.Path != "/api/token")
		}}, WrongAccount)
	w.revoke[Spotify] = func() {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		for _, g := range sp.grants {
			g.dead = true
		}
	}
	sp.url, err = w.serve(ctx, Spotify, sp.gate)
	w.Spotify = SpotifyServer{
		URL:      sp.url,
		AuthURL:  sp.url + "/authorize",
		TokenURL: sp.url + "/api/token",
		ClientID: sp.clientID,
		sp:       sp,
	}
	return err
}

// scopes are those that this Spotify knows, in the words of its consent page.
var scopes = map[string]string{
	"user-read-recently-played":   "See what you have recently played",
	"user-read-currently-playing": "See what you are listening to now",
	"playlist-read-private":       "See your private playlists",
	"playlist-read-collaborative": "See your collaborative playlists",
	"user-library-read":           "See the songs that you have saved",
	"user-library-modify":         "Change the songs that you have saved",
	"playlist-modify-private":     "Change your private playlists",
	"playlist-modify-public":      "Change your public playlists",
}

// checkRequest answers an authorization request that is wrong, and reports whether it was right. As long as the client
// and its redirect address are not known to be good, the person sees the error and nobody is redirected.
func (sp *spotify) checkRequest(w http.ResponseWriter, r *http.Request) bool {
	redirect, err := url.Parse(r.FormValue("redirect_uri"))
	switch {
	case r.FormValue("client_id") != sp.clientID:
		http.Error(w, "INVALID_CLIENT: Invalid client", http.StatusBadRequest)
		return false
	case err != nil || redirect.Host == "":
		http.Error(w, "INVALID_CLIENT: Invalid redirect URI", http.StatusBadRequest)
		return false
	case redirect.Scheme != "https" && !net.ParseIP(redirect.Hostname()).IsLoopback():
		http.Error(w, "INVALID_CLIENT: Insecure redirect URI", http.StatusBadRequest)
		return false
	}
	problem := ""
	switch {
	case r.FormValue("response_type") != "code":
		problem = "unsupported_response_type"
	case r.FormValue("code_challenge") == "" || r.FormValue("code_challenge_method") != "S256":
		problem = "invalid_request"
	case slices.ContainsFunc(strings.Fields(r.FormValue("scope")), func(s string) bool { return scopes[s] == "" }):
		problem = "invalid_scope"
	}
	if problem != "" {
		sp.redirect(w, r, "error", problem)
	}
	return problem == ""
}

// redirect sends the browser back to the app.
func (sp *spotify) redirect(w http.ResponseWriter, r *http.Request, key, value string) {
	u, err := url.Parse(r.FormValue("redirect_uri"))
	if err != nil {
		http.Error(w, "INVALID_CLIENT: Invalid redirect URI", http.StatusBadRequest)
		return
	}
	q := u.Query()
	q.Set(key, value)
	if state := r.FormValue("state"); state != "" {
		q.Set("state", state)
	}
	u.RawQuery = q.Encode()
	http.Redirect(w, r, u.String(), http.StatusSeeOther)
}

// signedIn is whose Spotify the browser is signed in to.
func (sp *spotify) signedIn() string {
	if m, _ := sp.current(); m == WrongAccount {
		return Bob
	}
	return Alice
}

// consent shows the page on which a person agrees.
func (sp *spotify) consent(w http.ResponseWriter, r *http.Request) {
	if !sp.checkRequest(w, r) {
		return
	}
	var asked []string
	for s := range strings.FieldsSeq(r.FormValue("scope")) {
		asked = append(asked, scopes[s])
	}
	consent{sp.home, "Spotify", sp.signedIn(), asked}.show(w, r)
}

// decide takes the consent page's form. A test may post it without having seen the page: the parameters of the
// authorization request (client_id, redirect_uri, response_type, scope, state, code_challenge, code_challenge_method)
// in the URL or in the form, with decision ("agree" or "cancel") and, unless it is who is signed in, account ("alice"
// or "bob"). The answer is a redirect to redirect_uri with code or error=access_denied, and state.
func (sp *spotify) decide(w http.ResponseWriter, r *http.Request) {
	if !sp.checkRequest(w, r) {
		return
	}
	account := r.FormValue("account")
	if account == "" {
		account = sp.signedIn()
	}
	if r.FormValue("decision") != "agree" || sp.home.person(account) == nil {
		sp.redirect(w, r, "error", "access_denied")
		return
	}
	code := rand.Text()
	sp.mu.Lock()
	sp.codes[code] = pendingCode{
		account: account, scope: r.FormValue("scope"), redirect: r.FormValue("redirect_uri"),
		challenge: r.FormValue("code_challenge"), expires: sp.opts.Now().Add(10 * time.Minute),
	}
	sp.mu.Unlock()
	sp.heal()
	sp.redirect(w, r, "code", code)
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
