package demo

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// YouTubeServer is the address of the simulated YouTube, with Google's sign-in.
type YouTubeServer struct {
	URL          string // of the API, with /youtube/v3
	AuthURL      string
	TokenURL     string
	ClientID     string // the only app that is registered
	ClientSecret string
	Keys         []string // API keys, of a project each
	yt           *youtube
}

// Authorize returns what the consent page leads to, without a browser: a token of the account with these scopes.
func (s YouTubeServer) Authorize(account string, scopes ...string) *oauth2.Token {
	s.yt.mu.Lock()
	defer s.yt.mu.Unlock()
	s.yt.heal()
	g := &grant{account: account, scope: strings.Join(scopes, " "), refresh: rand.Text()}
	s.yt.grants[g.refresh] = g
	return &oauth2.Token{
		AccessToken:  s.yt.accessLocked(g),
		RefreshToken: g.refresh,
		TokenType:    "Bearer",
		Expiry:       s.yt.opts.Now().Add(s.yt.opts.TokenLife),
	}
}

// Asked returns how many videos each call of /videos named, in the order of the calls.
func (s YouTubeServer) Asked() []int {
	s.yt.mu.Lock()
	defer s.yt.mu.Unlock()
	return slices.Clone(s.yt.asked)
}

// Refuse answers a key, or with an empty one every call in a person's name, as [KeySpent] or [KeyInvalid] does.
// [Normal] ends that.
func (s YouTubeServer) Refuse(key string, how Mode) {
	s.yt.mu.Lock()
	defer s.yt.mu.Unlock()
	s.yt.refused[key] = how
}

// AddKeys makes YouTube accept further API keys, unless it was told before what to do with them.
func (s YouTubeServer) AddKeys(keys ...string) {
	s.yt.mu.Lock()
	defer s.yt.mu.Unlock()
	for _, key := range keys {
		if s.yt.refused[key] == "" {
			s.yt.refused[key] = Normal
		}
	}
}

// Vanish makes a video "private" or "deleted"; empty brings it back.
func (s YouTubeServer) Vanish(video, how string) {
	s.yt.mu.Lock()
	defer s.yt.mu.Unlock()
	s.yt.gone[video] = how
}

func (yt *youtube) vanished(video string) string {
	yt.mu.Lock()
	defer yt.mu.Unlock()
	return yt.gone[video]
}

// keyCalls returns how many requests came with each of Keys.
func (s YouTubeServer) keyCalls() []int {
	s.yt.mu.Lock()
	defer s.yt.mu.Unlock()
	return slices.Clone(s.yt.used)
}

const (
	youtubeScope  = "https://www.googleapis.com/auth/youtube.readonly"
	youtubeWrites = "https://www.googleapis.com/auth/youtube.force-ssl"
	youtubeAuth   = "/o/oauth2/v2/auth"
	youtubeSecret = "reprise-demo-secret"
)

var youtubeKeys = []string{
	"simulated-google-key-one-0001",
	"simulated-google-key-two-0002",
	"simulated-google-key-three-0003",
}

type youtube struct {
	*gate
	home     *household
	clientID string

	mu     sync.Mutex
	codes  map[string]pendingCode
	grants map[string]*grant // by refresh token
	access map[string]accessToken
	used   []int // requests by key

	asked   []int             // videos in each call of /videos
	refused map[string]Mode   // by key, see Refuse
	gone    map[string]string // by video, see Vanish
}

func (w *World) startYouTube(ctx context.Context) error {
	yt := &youtube{
		home:     w.home,
		clientID: "reprise-demo.apps.googleusercontent.com",
		codes:    map[string]pendingCode{},
		grants:   map[string]*grant{},
		access:   map[string]accessToken{},
		used:     make([]int, len(youtubeKeys)),
		refused:  map[string]Mode{},
		gone:     map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+youtubeAuth, yt.consent)
	mux.HandleFunc("POST "+youtubeAuth, yt.decide)
	mux.HandleFunc("GET /consent.css", serveConsentCSS)
	mux.HandleFunc("POST /token", yt.token)
	mux.HandleFunc("GET /youtube/v3/channels", yt.api(yt.channels))
	mux.HandleFunc("GET /youtube/v3/playlists", yt.api(yt.playlists))
	mux.HandleFunc("GET /youtube/v3/playlistItems", yt.api(yt.items))
	mux.HandleFunc("GET /youtube/v3/videos", yt.api(yt.details))
	mux.HandleFunc("POST /youtube/v3/videos/rate", yt.api(yt.rate))
	yt.gate = w.newGate(ctx, rules{who: yt.who, refuse: yt.refuse, next: mux.ServeHTTP,
		concern: func(r *http.Request, m Mode) bool {
			return strings.HasPrefix(r.URL.Path, "/youtube/") || r.URL.Path == "/token" && m != RateLimited
		}}, WrongAccount, KeySpent, KeysSpent, KeyInvalid)
	w.revoke[YouTube] = func() {
		yt.mu.Lock()
		defer yt.mu.Unlock()
		for _, g := range yt.grants {
			g.dead = true
		}
	}
	base, err := w.serve(ctx, YouTube, yt.gate)
	w.YouTube = YouTubeServer{
		URL:          base + "/youtube/v3",
		AuthURL:      base + youtubeAuth,
		TokenURL:     base + "/token",
		ClientID:     yt.clientID,
		ClientSecret: youtubeSecret,
		Keys:         youtubeKeys,
		yt:           yt,
	}
	return err
}

// checkRequest answers an authorization request that is wrong, and reports whether it was right.
func (yt *youtube) checkRequest(w http.ResponseWriter, r *http.Request) bool {
	redirect, err := url.Parse(r.FormValue("redirect_uri"))
	switch {
	case r.FormValue("client_id") != yt.clientID:
		http.Error(w, "Error 401: invalid_client", http.StatusUnauthorized)
	case err != nil || redirect.Host == "" || redirect.Scheme != "https" && redirect.Hostname() != "localhost" &&
		!net.ParseIP(redirect.Hostname()).IsLoopback():
		http.Error(w, "Error 400: redirect_uri_mismatch", http.StatusBadRequest)
	case r.FormValue("response_type") != "code" || !slices.Contains([]string{youtubeScope,
		youtubeScope + " " + youtubeWrites}, r.FormValue("scope")):
		http.Error(w, "Error 400: invalid_request", http.StatusBadRequest)
	default:
		return true
	}
	return false
}

// signedIn returns the account that the browser is signed in to.
func (yt *youtube) signedIn() string {
	if m, _ := yt.current(); m == WrongAccount {
		return Bob
	}
	return Alice
}

// consent shows the page on which a person agrees.
func (yt *youtube) consent(w http.ResponseWriter, r *http.Request) {
	if yt.checkRequest(w, r) {
		asks := []string{"View your YouTube account"}
		if strings.Contains(r.FormValue("scope"), youtubeWrites) {
			asks = append(asks, "See, edit, and permanently delete your YouTube videos, ratings, comments and captions")
		}
		consent{yt.home, "YouTube", yt.signedIn(), asks}.show(w, r)
	}
}

// decide takes the consent page's form. Tests may post it without the page: the parameters of the authorization
// request in the URL or in the form, decision ("agree" or "cancel") and account ("alice" or "bob", by default the one
// signed in). It redirects to redirect_uri with state, and with code or error=access_denied.
func (yt *youtube) decide(w http.ResponseWriter, r *http.Request) {
	if !yt.checkRequest(w, r) {
		return
	}
	account := r.FormValue("account")
	if account == "" {
		account = yt.signedIn()
	}
	to, _ := url.Parse(r.FormValue("redirect_uri")) // checkRequest has read it
	q := to.Query()
	q.Set("state", r.FormValue("state"))
	if r.FormValue("decision") == "agree" && yt.home.person(account) != nil {
		code := rand.Text()
		yt.mu.Lock()
		yt.codes[code] = pendingCode{
			account:   account,
			scope:     r.FormValue("scope"),
			redirect:  r.FormValue("redirect_uri"),
			challenge: r.FormValue("code_challenge"),
			expires:   yt.opts.Now().Add(10 * time.Minute),
		}
		yt.mu.Unlock()
		yt.heal()
		q.Set("code", code)
	} else {
		q.Set("error", "access_denied")
	}
	to.RawQuery = q.Encode()
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// token is the token endpoint. Google gives a refresh token once, with the consent.
func (yt *youtube) token(w http.ResponseWriter, r *http.Request) {
	id, secret := r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	if id != yt.clientID || secret != youtubeSecret {
		writeJSON(w, http.StatusUnauthorized, object{"error": "invalid_client", "error_description": "Unauthorized"})
		return
	}
	yt.mu.Lock()
	defer yt.mu.Unlock()
	code := r.PostFormValue("code")
	c, known := yt.codes[code]
	delete(yt.codes, code)
	g := yt.grants[r.PostFormValue("refresh_token")]
	answer := object{"token_type": "Bearer", "expires_in": int(max(time.Second, yt.opts.TokenLife) / time.Second)}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		if !known || yt.opts.Now().After(c.expires) || c.redirect != r.PostFormValue("redirect_uri") ||
			c.challenge != "" && c.challenge != challengeOf(r.PostFormValue("code_verifier")) {
			tokenError(w, "invalid_grant", "Malformed auth code.")
			return
		}
		g = &grant{account: c.account, scope: c.scope, refresh: rand.Text()}
		yt.grants[g.refresh] = g
		answer["refresh_token"] = g.refresh
	case "refresh_token":
		if g == nil || g.dead {
			tokenError(w, "invalid_grant", "Token has been expired or revoked.")
			return
		}
	default:
		tokenError(w, "unsupported_grant_type", "Invalid grant_type")
		return
	}
	answer["access_token"], answer["scope"] = yt.accessLocked(g), g.scope
	writeJSON(w, http.StatusOK, answer)
}

func (yt *youtube) accessLocked(g *grant) string {
	t := rand.Text()
	yt.access[t] = accessToken{grant: g, expires: yt.opts.Now().Add(yt.opts.TokenLife)}
	return t
}
