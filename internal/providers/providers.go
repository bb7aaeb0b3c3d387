// Package providers defines what a provider is: what it says of itself, the settings it needs, how a person connects to
// it, and what can be read and written there. One sub-package per provider turns that into calls; nothing here or below
// retries, sleeps, logs or judges.
package providers

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// Provider is one upstream service with the installation's settings. It is never changed: new settings make another
// one, which takes its place in the [Registry].
type Provider struct {
	Description
	Settings Settings // that it was built from
	OAuth    *OAuth   // how a person consents at the provider; nil without
	SignIn   *SignIn  // the same at a provider with a way of its own instead of OAuth; nil without
	Keys     *resilience.KeyPool
	// Missing are the paths of the settings that the provider needs and does not have; nil when it can be used.
	Missing []string
	// App says whose limits a connection shares with others: the client id, or the host of the user's own server.
	App func(library.Credentials) string
	// Open returns an adapter for one run with these credentials. It makes no call. With OAuth the client adds the
	// access token itself and the credentials are not needed.
	Open func(*http.Client, library.Credentials) Adapter
	// Enricher is the source of facts, and Model the language model; nil for other providers.
	Enricher Enricher
	Model    Model
}

// TokenEndpoint names the OAuth token endpoint of any provider in logs and metrics.
const TokenEndpoint = "POST token endpoint"

// Field is one input of a provider's connect form.
type Field struct {
	Name     string // key in Credentials and in the JSON API
	Label    string
	Help     string
	Kind     string // "text", "url", "password" or "checkbox"
	Optional bool
	Or       string // the name of the field that may be filled in instead; empty without
}

// OAuth is the installation's registration with a provider that speaks OAuth 2 with PKCE.
type OAuth struct {
	ClientID     string
	ClientSecret string // empty for a public client
	Confidential bool   // the provider wants the secret, too
	AuthURL      string
	TokenURL     string
	Scopes       []string
	AuthParams   map[string]string // further parameters of the authorization request
	// Months is after how many months an authorization ends although it is used; 0 means never.
	Months int
}

// SignIn is a provider's own way to let a person consent in the browser: a page of theirs that comes back to us with a
// token, which is exchanged for lasting credentials.
type SignIn struct {
	// AuthURL is the page at which the person consents; callback is where it comes back to, with a state of ours in it.
	// A person who does not consent comes back without a token, or not at all.
	AuthURL func(callback string) (string, error)
	// Token is the name of the parameter in which the token arrives.
	Token string
	// Exchange turns the token into credentials by one call. They last until the person takes them back.
	Exchange func(ctx context.Context, client *http.Client, token string) (library.Credentials, error)
	Ready    bool // the settings it needs are there
}

// Adapter is one connection's way to its upstream. It is used by one run at a time. An adapter also implements the
// capabilities below that its provider has.
type Adapter interface {
	// Prove makes the real calls that show that the credentials work, and says whose account it is.
	Prove(context.Context) (Account, error)
}

// Account is the account behind a connection.
type Account struct {
	ID   string // stable at the provider; two connections with the same ID are the same account
	Name string // for people
	// Learned is merged into the stored credentials: what Prove found out about how to call this server.
	Learned library.Credentials
}

// ListenSource is an adapter that reads listens.
type ListenSource interface {
	// Listens yields the plays of a span of time, newest first. After each page everything later than its Oldest has
	// been read; when the sequence ends without an error the whole span has been. Plays outside the span may be among
	// them. An error ends the sequence.
	Listens(context.Context, library.Span) iter.Seq2[ListenPage, error]
}

// PlaylistSource is an adapter that reads playlists.
type PlaylistSource interface {
	// Playlists yields the user's playlists without their tracks, page by page. An error ends the sequence.
	Playlists(context.Context) iter.Seq2[[]library.Playlist, error]
	// Tracks yields the tracks of one playlist in their order, page by page. An error ends the sequence.
	Tracks(context.Context, library.Playlist) iter.Seq2[[]library.Track, error]
}

// ErrNotOffered is what a capability returns when this server has that feature switched off: no failure, and nothing
// to read.
var ErrNotOffered = errors.New("not offered by this server")

// ListenPage is one page of plays.
type ListenPage struct {
	Listens []library.Listen
	Oldest  time.Time // all plays of the span later than this have been read
	Total   int       // how many plays the whole span holds, as far as the provider says; 0 when it does not
	// Lost says that the provider no longer offers what lies between the start of the span and Oldest.
	Lost bool
}

// Guarded are all streams that calls go out for: those that are pulled, and what is carried there.
func (p *Provider) Guarded() []string {
	if p.Takes.Nothing() {
		return p.Streams
	}
	return append(p.Streams[:len(p.Streams):len(p.Streams)], library.Deliveries)
}

// Pulls says whether the provider has that stream.
func (p *Provider) Pulls(stream string) bool {
	return slices.Contains(p.Streams, stream)
}

// InBrowser says whether a person connects by consenting on the provider's own page, and not by filling in a form here.
func (p *Provider) InBrowser() bool { return p.OAuth != nil || p.SignIn != nil }

// Asks are the labels of what a person has to fill in to connect, with the alternative where there is one.
func (p *Provider) Asks() (labels []string) {
	for _, f := range p.Fields {
		if i := slices.IndexFunc(p.Fields, func(other Field) bool { return other.Name == f.Or }); i >= 0 {
			labels = append(labels, f.Label+" or "+p.Fields[i].Label)
		} else if !f.Optional {
			labels = append(labels, f.Label)
		}
	}
	return labels
}

// Registered says whether the installation has what it needs to ask people for their consent.
func (p *Provider) Registered() bool {
	consents := p.OAuth == nil || p.OAuth.ClientID != "" && (p.OAuth.ClientSecret != "" || !p.OAuth.Confidential)
	return consents && (p.SignIn == nil || p.SignIn.Ready)
}

// ToRegister returns the paths of the settings without which a provider is not Registered, and tells how to get them,
// in whole sentences.
func (p *Provider) ToRegister() (settings []string, steps string) {
	if !p.InBrowser() || p.Registration == nil {
		return nil, ""
	}
	return p.paths(func(s Setting) bool { return isIdentity(s) && s.Required }), p.Registration.Steps
}
