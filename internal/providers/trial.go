package providers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

// Trying holds the inputs of a trial.
type Trying struct {
	Call     resilience.Call // its client adds the key in a trial of a key
	Settings Settings
	Redirect string // the redirect URI
}

// Trial tests one identity of the installation: a registration or a key.
type Trial struct {
	// What names the identity at the beginning of a sentence: "Last.fm's API key and shared secret". Keys are named by
	// their last four characters.
	What   string
	Advice words.Text // what to do when it is refused and the provider's error table does not say
	Try    func(context.Context) error
}

// Trials returns a trial of the installation's registration, if it is complete, and of each key.
func (d Description) Trials(s Settings, call resilience.Call, redirect string) (all []Trial) {
	if r := d.Registration; r != nil && d.complete(s) {
		all = append(all, Trial{What: d.DisplayName + "'s " + r.Identity,
			Advice: words.Plain("Copy both again from " + r.Source + " into " + Listed(d.paths(isIdentity)) + "."),
			Try: func(ctx context.Context) error {
				return r.Try(ctx, Trying{Call: call, Settings: s, Redirect: redirect})
			}})
	}
	for _, k := range d.Keys(s) {
		keyed := call
		keyed.Client = transport.NewClient(&keys.Transport{Base: call.Client.Transport, Put: d.Pool.Put,
			Pool: keys.New(d.Name, []keys.Key{k}, backoff.Options{})})
		all = append(all, Trial{What: d.Pool.KeyName + " …" + k.LastFour(), Advice: d.Pool.Advice,
			Try: func(ctx context.Context) error {
				return d.Pool.Try(ctx, Trying{Call: keyed, Settings: s})
			}})
	}
	return all
}

// isIdentity reports whether the setting comes from the registration.
func isIdentity(s Setting) bool { return s.Name == "client_id" || s.Name == "client_secret" }

func (d Description) paths(which func(Setting) bool) (all []string) {
	for _, s := range d.Settings {
		if which(s) {
			all = append(all, d.Path(s.Name))
		}
	}
	return all
}

// complete reports whether all settings that the registration needs are set.
func (d Description) complete(s Settings) bool {
	for _, setting := range d.Settings {
		if isIdentity(setting) && setting.Required && s[setting.Name].Empty() {
			return false
		}
	}
	return true
}

// Listed joins the paths of settings of one provider, the first in full: "providers.x.client_id and client_secret".
func Listed(paths []string) string {
	short := make([]string, len(paths))
	for i, path := range paths {
		if short[i] = path; i > 0 {
			short[i] = path[strings.LastIndex(path, ".")+1:]
		}
	}
	return strings.Join(short, " and ")
}

// TryToken calls a token endpoint with the installation's registration, to test whether it is known.
func TryToken(ctx context.Context, t Trying, form url.Values) error {
	reader := resilience.Reader{Explain: func(e *resilience.AnswerError) {
		var body struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(e.Body, &body) // without a code the status applies
		m := resilience.TokenMeaning(e.Status, body.Error)
		e.Code, e.Meaning = body.Error, &m
	}}
	id, secret := t.Settings.Text("client_id"), string(t.Settings.Secret("client_secret"))
	if secret == "" { // a public client
		form.Set("client_id", id)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Settings.Text("token_url"),
		strings.NewReader(form.Encode()))
	if err != nil {
		return &resilience.SettingError{Setting: "token_url", Problem: words.New("field.web_address")}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret != "" {
		req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	}
	_, err = t.Call.Send(req, resilience.Endpoint{Name: TokenEndpoint, Reader: reader})
	return err
}
