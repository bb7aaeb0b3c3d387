// Package lastfm reads listens from Last.fm and sends listens there.
//
// Every call is a signed POST with the API key, the session key and the signature in its body, never in the URL. Reads
// are signed with the session key too, because people can hide their recent listening from others.
//
// Last.fm keeps time in whole seconds, and two plays can share one. Pages therefore overlap by one second: a play may
// be read twice, with the same SourceID, but none is missed.
package lastfm

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The names in the credentials.
const (
	sessionField = "session_key"
	userField    = "user"
)

// api calls Last.fm on behalf of the installation.
type api struct {
	base        string // with a trailing slash; Last.fm redirects without it
	key, secret string
	err         error // of the address of a server elsewhere
}

type adapter struct {
	api
	call       resilience.Call
	sessionKey string
	user       string
	gnu        *gnuFM // at a GNU FM; nil at Last.fm
}

// ask sends one signed request and reads its answer into v. Last.fm reports a refusal with any status, 200 included.
func (a api) ask(
	ctx context.Context, call resilience.Call, method string, params url.Values, t providers.Table, v any,
) error {
	if err := a.missing(); err != nil {
		return err
	}
	form := maps.Clone(params)
	form.Set("method", method)
	form.Set("api_key", a.key)
	form.Set("api_sig", a.sign(form))
	if strings.Contains(method, ".get") { // all calls are forms, also those that read
		call.Effect = resilience.Read
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"?format=json",
		strings.NewReader(form.Encode()))
	if err != nil {
		return &resilience.SettingError{Setting: "providers.lastfm.api_url", Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	refusals := providers.Refusals{Table: t, Explain: explain, InSuccess: refusedInSuccess}
	answer, err := refusals.Send(call, req, endpoint(method))
	if err != nil {
		return err
	}
	return providers.DecodeJSON(answer, v)
}

// signed is ask with the session key of the connection's user.
func (a *adapter) signed(ctx context.Context, method string, params url.Values, t providers.Table, v any) error {
	params.Set("sk", a.sessionKey)
	err := a.ask(ctx, a.call, method, params, t, v)
	if a.gnu == nil || !refusedWith(err, invalidSession) {
		return err
	}
	if err := a.signIn(ctx); err != nil {
		return err
	}
	params.Set("sk", a.sessionKey)
	return a.ask(ctx, a.call, method, params, t, v)
}

// missing returns an error that names the required setting that is empty.
func (a api) missing() error {
	setting := "client_id"
	switch {
	case a.err != nil:
		return a.err
	case a.key == "":
	case a.secret == "":
		setting = "client_secret"
	default:
		return nil
	}
	return &resilience.SettingError{Setting: "providers.lastfm." + setting,
		Problem: words.New("field.missing", "Page", accounts)}
}

// sign returns Last.fm's signature: the MD5 of all parameters except format and callback, sorted by name, and the
// shared secret.
func (a api) sign(params url.Values) string {
	h := md5.New()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name != "format" && name != "callback" {
			h.Write([]byte(name + params.Get(name)))
		}
	}
	h.Write([]byte(a.secret))
	return hex.EncodeToString(h.Sum(nil))
}

const (
	getSession = "auth.getSession"
	userInfo   = "user.getInfo"
)

// endpoint names a call by its method, because all calls go to one URL.
func endpoint(method string) string { return http.MethodPost + " " + method }

// consentURL returns the address of Last.fm's consent page.
func consentURL(page, key string) func(string) (string, error) {
	return func(callback string) (string, error) {
		u, err := url.Parse(page)
		if err != nil {
			return "", &resilience.SettingError{Setting: "providers.lastfm.auth_url",
				Problem: words.New("field.web_address")}
		}
		q := u.Query()
		q.Set("api_key", key)
		q.Set("cb", callback)
		u.RawQuery = q.Encode()
		return u.String(), nil
	}
}

// sessionBody is the answer to signing in.
type sessionBody struct {
	Session struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	} `json:"session"`
}

// session exchanges the token of the consent page for a session key, which is valid until the person revokes it.
func (a api) session(ctx context.Context, call resilience.Call, token string) (library.Credentials, error) {
	var body sessionBody
	if err := a.ask(ctx, call, getSession, url.Values{"token": {token}}, table, &body); err != nil {
		return nil, err
	}
	if body.Session.Name == "" || body.Session.Key == "" {
		return nil, providers.Broken(endpoint(getSession), "a session without a name or a key")
	}
	return library.Credentials{sessionField: body.Session.Key, userField: body.Session.Name}, nil
}

// Prove implements providers.Adapter. It names no user, so the answer is about the owner of the session key.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	if a.gnu != nil {
		return a.proveElsewhere(ctx)
	}
	var body struct {
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	}
	if err := a.signed(ctx, userInfo, url.Values{}, userTable, &body); err != nil {
		return providers.Account{}, err
	}
	name := body.User.Name
	if name == "" {
		return providers.Account{}, providers.Broken(endpoint(userInfo), "a user without a name")
	}
	a.user = name
	// Names are unique without regard to case, and people may change the case of theirs.
	return providers.Account{ID: strings.ToLower(name), Name: name, Learned: library.Credentials{userField: name}}, nil
}
