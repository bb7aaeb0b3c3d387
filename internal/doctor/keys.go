package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"reprise/internal/library"
	"reprise/internal/providers/fanarttv"
	"reprise/internal/providers/lastfm"
	"reprise/internal/providers/openai"
	"reprise/internal/providers/youtube"
	"reprise/internal/resilience"
)

// registration is something that a service knows this installation by, with the call that shows whether it still does.
type registration struct {
	what   string // at the beginning of a sentence; of a key its last four characters
	advice string // what to do when it is refused and the service's table does not say
	try    func(context.Context) error
}

// keys tries every key and every client id whose validity can be seen without a person, all at once.
func (d *doctor) keys(ctx context.Context) []finding {
	all := d.registrations()
	out := make([]finding, len(all))
	var g errgroup.Group
	for i, r := range all {
		g.Go(func() error { out[i] = r.judge(r.try(ctx)); return nil })
	}
	_ = g.Wait() // findings are no errors
	if d.c.Spotify.ClientID != "" && d.c.Spotify.ClientSecret == "" {
		out = append([]finding{found(off, "Whether Spotify knows the client id shows when somebody connects: without a client secret it cannot be tried.")}, out...)
	}
	return out
}

func (d *doctor) registrations() (all []registration) {
	c := d.c
	if c.Spotify.ClientID != "" && c.Spotify.ClientSecret != "" {
		all = append(all, registration{"Spotify's client id and secret", "Copy both again from https://developer.spotify.com/dashboard into providers.spotify.client_id and client_secret.",
			func(ctx context.Context) error {
				return d.token(ctx, c.Spotify.TokenURL, c.Spotify.ClientID, c.Spotify.ClientSecret, url.Values{"grant_type": {"client_credentials"}})
			}})
	}
	if c.LastFM.ClientID != "" && c.LastFM.ClientSecret != "" {
		all = append(all, registration{"Last.fm's API key and shared secret", "Copy both again from https://www.last.fm/api/accounts into providers.lastfm.client_id and client_secret.", d.tryLastFM})
	}
	if c.YouTube.ClientID != "" && c.YouTube.ClientSecret != "" {
		all = append(all, registration{"YouTube's client ID and secret", "Copy both again from Google's console, under \"Credentials\", into providers.youtube.client_id and client_secret.",
			func(ctx context.Context) error { return d.tryGoogle(ctx) }})
	}
	for _, k := range c.YouTube.Keys {
		client := d.with("youtube", k, youtube.PutKey)
		all = append(all, registration{"YouTube's key …" + k.LastFour(), youtube.KeyAdvice,
			func(ctx context.Context) error { return youtube.Try(ctx, client, c.YouTube.APIURL) }})
	}
	for _, k := range c.FanartTV.Keys {
		source := fanarttv.New(d.with("fanarttv", k, fanarttv.PutKey), fanarttv.Config{APIURL: c.FanartTV.APIURL, ClientKey: c.FanartTV.ClientKey})
		all = append(all, registration{"Fanart.tv's key …" + k.LastFour(), fanarttv.KeyAdvice, func(ctx context.Context) error {
			_, err := source.Enrich(ctx, library.Entity{Kind: library.KindArtist, MBID: "a74b1b7f-71a5-4011-9441-d0b5e4122711"})
			if errors.Is(err, library.ErrNotThere) {
				return nil
			}
			return err
		}})
	}
	if c.OpenAI.Model == "" {
		return all
	}
	for _, k := range c.OpenAI.Keys {
		model := openai.New(d.with("openai", k, openai.PutKey), openai.Config{APIURL: c.OpenAI.APIURL})
		all = append(all, registration{"The language model's key …" + k.LastFour(), openai.KeyAdvice, model.Try})
	}
	return all
}

// with is a client that adds this one key.
func (d *doctor) with(provider string, k resilience.PoolKey, put func(*http.Request, resilience.Secret)) *http.Client {
	return resilience.NewClient(&resilience.KeyTransport{Base: d.client.Transport, Put: put,
		Pool: resilience.NewKeyPool(provider, []resilience.PoolKey{k}, resilience.Options{})})
}

// tryLastFM signs a call in the name of nobody: Last.fm looks at the key and the signature first.
func (d *doctor) tryLastFM(ctx context.Context) error {
	p := lastfm.New(lastfm.Config{APIURL: d.c.LastFM.APIURL, ClientID: d.c.LastFM.ClientID, ClientSecret: string(d.c.LastFM.ClientSecret)})
	_, err := p.Open(d.client, library.Credentials{"session_key": "nobody"}).Prove(ctx)
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && resilience.Classify(e).Scope == resilience.ScopeConnection && !e.HTML &&
		resilience.Classify(e).Category == resilience.Auth {
		return nil // it is nobody's session that is refused
	}
	return err
}

// tryGoogle exchanges a code that was never given out: Google looks at the client first.
func (d *doctor) tryGoogle(ctx context.Context) error {
	err := d.token(ctx, d.c.YouTube.TokenURL, d.c.YouTube.ClientID, d.c.YouTube.ClientSecret, url.Values{"grant_type": {"authorization_code"},
		"code": {"nothing"}, "redirect_uri": {d.c.BaseURL + "/connect/youtube/callback"}})
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Code == "invalid_grant" {
		return nil
	}
	return err
}

// token asks a token endpoint in the name of the installation.
func (d *doctor) token(ctx context.Context, address, id string, secret resilience.Secret, form url.Values) error {
	ctx = resilience.WithReader(ctx, resilience.Reader{Explain: func(e *resilience.AnswerError) {
		var body struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(e.Body, &body) // without a code the status counts
		m := resilience.TokenMeaning(e.Status, body.Error)
		e.Code, e.Meaning = body.Error, &m
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return &resilience.SettingError{Setting: "token_url", Problem: "This is not a web address."}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(string(secret)))
	_, err = resilience.Send(d.client, req, "POST token endpoint")
	return err
}

// judge says what came of trying.
func (r registration) judge(err error) finding {
	v := resilience.Classify(err)
	advice := r.advice
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && e.Meaning.Advice != "" {
		advice = e.Meaning.Advice
	}
	switch {
	case v.Class == resilience.OK:
		return found(fine, "%s: accepted.", r.what)
	case v.Class == resilience.Fatal && (v.Category == resilience.Auth || v.Category == resilience.Config || v.Category == resilience.Permission):
		return found(problem, "%s: refused. %s", r.what, advice)
	case v.Category == resilience.Quota:
		return found(warn, "%s: accepted, but used up for now. It goes on by itself when the service allows it again.", r.what)
	case v.Category == resilience.RateLimit:
		return found(warn, "%s: could not be tried, because the service wants to be asked less often just now. Look again later.", r.what)
	case v.Category == resilience.Network:
		return found(warn, "%s: could not be tried, because the service cannot be reached.", r.what)
	case v.Category == resilience.Upstream:
		return found(warn, "%s: could not be tried, because the service has trouble of its own. Look again later.", r.what)
	}
	return found(warn, "%s: could not be tried, because the answer was not understood (%s). Look again later.", r.what, fmt.Sprint(v.Category))
}
