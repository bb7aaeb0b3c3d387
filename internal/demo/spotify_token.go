package demo

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"time"
)

// token is the token endpoint.
func (sp *spotify) token(w http.ResponseWriter, r *http.Request) {
	if !sp.knownClient(r) {
		tokenError(w, "invalid_client", "Invalid client")
		return
	}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		sp.exchange(w, r)
	case "refresh_token":
		sp.refreshToken(w, r)
	default:
		tokenError(w, "unsupported_grant_type",
			"grant_type must be client_credentials, authorization_code or refresh_token")
	}
}

// knownClient accepts the client id in the form or as the user of basic authentication, without a secret.
func (sp *spotify) knownClient(r *http.Request) bool {
	id, secret := r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(user)
		secret = password
	}
	return id == sp.clientID && secret == ""
}

func (sp *spotify) exchange(w http.ResponseWriter, r *http.Request) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	code := r.PostFormValue("code")
	c, ok := sp.codes[code]
	delete(sp.codes, code) // single use, whatever comes of it
	switch {
	case !ok || sp.opts.Now().After(c.expires):
		tokenError(w, "invalid_grant", "Invalid authorization code")
	case c.redirect != r.PostFormValue("redirect_uri"):
		tokenError(w, "invalid_grant", "Invalid redirect URI")
	case c.challenge != challengeOf(r.PostFormValue("code_verifier")):
		tokenError(w, "invalid_grant", "code_verifier was incorrect")
	default:
		g := &grant{account: c.account, scope: c.scope, refresh: rand.Text()}
		sp.grants[g.refresh] = g
		sp.tokenAnswerLocked(w, g, true)
	}
}

func (sp *spotify) refreshToken(w http.ResponseWriter, r *http.Request) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	old := r.PostFormValue("refresh_token")
	g := sp.grants[old]
	switch {
	case g == nil:
		tokenError(w, "invalid_grant", "Invalid refresh token")
		return
	case g.dead:
		tokenError(w, "invalid_grant", "")
		return
	}
	g.refreshes++
	if old == g.refresh && g.previous != "" { // the new one has arrived: the one before is over
		delete(sp.grants, g.previous)
		g.previous = ""
	}
	renew := g.refreshes%2 == 0 // the first refresh answers without a refresh token
	if renew {
		if g.previous != "" { // the previous one was used again: its successor never arrived
			delete(sp.grants, g.refresh)
		}
		g.previous, g.refresh = old, rand.Text()
		sp.grants[g.refresh] = g
	}
	sp.tokenAnswerLocked(w, g, renew)
}

func (sp *spotify) tokenAnswerLocked(w http.ResponseWriter, g *grant, withRefresh bool) {
	a := object{
		"access_token": sp.accessLocked(g), "token_type": "Bearer", "scope": g.scope,
		"expires_in": int(max(time.Second, sp.opts.TokenLife) / time.Second),
	}
	if withRefresh {
		a["refresh_token"] = g.refresh
	}
	writeJSON(w, http.StatusOK, a)
}

// accessLocked issues an access token and forgets those that are long over.
func (sp *spotify) accessLocked(g *grant) string {
	now := sp.opts.Now()
	for t, a := range sp.access {
		if now.Sub(a.expires) > time.Hour {
			delete(sp.access, t)
		}
	}
	t := rand.Text()
	sp.access[t] = accessToken{grant: g, expires: now.Add(sp.opts.TokenLife)}
	return t
}

func tokenError(w http.ResponseWriter, code, description string) {
	e := object{"error": code}
	if description != "" {
		e["error_description"] = description
	}
	writeJSON(w, http.StatusBadRequest, e)
}
