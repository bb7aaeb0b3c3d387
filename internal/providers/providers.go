// Package providers defines providers: their descriptions and settings, how people connect to them, and what can be
// read and written. Each provider has a package below this one with its adapter. Adapters do not retry, sleep, log or
// classify.
package providers

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

// Provider is an upstream service with the installation's settings. It is immutable: new settings make a new Provider,
// which replaces it in the [Registry].
type Provider struct {
	Description
	Settings Settings // the settings that it was built from
	OAuth    *OAuth   // sign-in with OAuth; nil without
	SignIn   *SignIn  // sign-in with the provider's own protocol; nil without
	Keys     *keys.Pool
	// Missing lists the paths of required settings that are empty; nil when the provider can be used.
	Missing []string
	// Lists reports whether a server offers playlists, as far as was learned when it was connected; nil for all.
	Lists func(library.Credentials) bool
	// App returns the app whose limits connections share: the client id, or the host of the user's own server.
	App func(library.Credentials) string
	// Open returns an adapter that makes all its requests as parts of this call, with these credentials. It sends none
	// itself. With OAuth the call's client adds the access token, and the credentials are not needed.
	Open func(resilience.Call, library.Credentials) Adapter
	// Enricher is the source of facts, and Model the language model; nil for other providers.
	Enricher Enricher
	Model    Model
}

// OtherAddress returns the setting that has another address than the service's own, such as that of a mirror; empty for
// none.
func (p *Provider) OtherAddress() string {
	for _, s := range p.Description.Settings {
		if text := p.Settings.Text(s.Name); s.Called && text != "" && text != s.Default {
			return p.Path(s.Name)
		}
	}
	return ""
}

// TokenEndpoint names the OAuth token endpoint of any provider in logs and metrics.
const TokenEndpoint = "POST token endpoint"

// Label returns what people read for a connection to the provider: the name that its person gave it, or the provider's,
// with a number from the second connection on.
func (p *Provider) Label(c library.Connection) words.Text {
	name := p.Called()
	switch n := c.ID.Number(); {
	case c.Name != "":
		return words.Plain(c.Name)
	case n > 1:
		return words.New("provider.numbered", "Name", name, "Number", n)
	}
	return name
}

// Secret says what people enter for the provider that it may refuse later: "password", "token" or, for anything else,
// "saved".
func (p *Provider) Secret() string {
	for _, f := range p.Fields {
		if f.Name == "token" || f.Name == "password" {
			return f.Name
		}
	}
	return "saved"
}

// Field is one input of a provider's connect form.
type Field struct {
	Name     string // key in Credentials and in the JSON API
	Label    words.Text
	Help     words.Text
	Kind     string // "text", "url", "password" or "checkbox"
	Optional bool
	Or       string // the name of an alternative field; empty without
	Seldom   bool   // few people need it: the form shows it under "More options"
}

// OAuth is the installation's registration with a provider that uses OAuth 2 with PKCE.
type OAuth struct {
	ClientID     string
	ClientSecret string // empty for a public client
	Confidential bool   // the provider requires the secret
	AuthURL      string
	TokenURL     string
	Scopes       []string
	// Further has the scopes that are asked for in addition to Scopes once a person wants what needs them; see
	// [Provider.May]. The token endpoint must name the scopes that were granted.
	Further    map[Permission][]string
	AuthParams map[string]string // further parameters of the authorization request
	// Months is the lifetime of an authorization in months; 0 means unlimited.
	Months int
}

// ScopeField is the credential that holds the scopes that a person has granted, separated by spaces, as the token
// endpoint named them.
const ScopeField = "scope"

// Permission is something beyond reading that a person is asked to allow once they want to use it.
type Permission string

// The permissions.
const (
	WritePlaylists Permission = "playlists"
	WriteLoves     Permission = "loves"
)

// TakesPlaylists reports whether playlists can be written at the server of a connection.
func (p *Provider) TakesPlaylists(cred library.Credentials) bool {
	return p.Takes.Playlists && (p.Lists == nil || p.Lists(cred))
}

// May reports whether an authorization includes a permission. A provider without scopes for it always allows it.
func (p *Provider) May(what Permission, cred library.Credentials) bool {
	if p.OAuth == nil {
		return true
	}
	granted := strings.Fields(cred[ScopeField])
	return !slices.ContainsFunc(p.OAuth.Further[what], func(s string) bool { return !slices.Contains(granted, s) })
}

// SignIn is a provider's own protocol for consent in the browser: its page redirects back with a token, which is
// exchanged for permanent credentials.
type SignIn struct {
	// AuthURL returns the address of the consent page. callback is the address that it redirects to, with our state in
	// it. A person who refuses comes back without a token, or not at all.
	AuthURL func(callback string) (string, error)
	// Token is the name of the query parameter with the token.
	Token string
	// Exchange turns the token into credentials with one call. They are valid until the person revokes them.
	Exchange func(ctx context.Context, call resilience.Call, token string) (library.Credentials, error)
	Ready    bool // all required settings are set
}

// Adapter connects one connection to its upstream. Only one run uses it at a time. An adapter also implements the
// interfaces below that its provider supports.
type Adapter interface {
	// Prove makes the calls that show that the credentials work, and returns their account.
	Prove(context.Context) (Account, error)
}

// Account is the account behind a connection.
type Account struct {
	// ID is stable at the provider: two connections with the same ID are the same account. Empty where there are none.
	ID   string
	Name string // for people
	// AnyCase says that names which differ only in their case are one account there, so that IDs that do so are equal.
	AnyCase bool
	// Label is what the connection is called when its person gives it no name; empty for the provider's name.
	Label string
	// Learned is merged into the stored credentials. It holds what Prove found out about the account and the server.
	Learned library.Credentials
	// Lacks are the streams that this server is known not to offer to be read.
	Lacks []string
}

// ListenSource is an adapter that reads listens.
type ListenSource interface {
	// Listens yields the plays of a span of time, newest first. After each page all plays later than its Oldest have
	// been read, and at the end without an error the whole span. Pages may contain plays outside the span. An error
	// ends the sequence.
	Listens(context.Context, library.Span) iter.Seq2[ListenPage, error]
}

// PlayCounter is a ListenSource that can count, so that plays which arrive late are noticed.
type PlayCounter interface {
	// CountPlays returns how many plays before an instant the provider has; ErrNotOffered where this server cannot say.
	CountPlays(ctx context.Context, before time.Time) (int, error)
}

// Historian is a ListenSource whose provider keeps the whole history of an account, so that any time of it can be
// compared with what is here.
type Historian interface {
	ListenSource
	// CountBetween returns how many plays the provider has from an instant on and before another one, both in whole
	// seconds; -1 where only reading them tells. It may count plays within a second of the bounds as well. It returns
	// ErrNotOffered where this server doesn't have all of them.
	CountBetween(ctx context.Context, from, before time.Time) (int, error)
}

// PlayingSource is an adapter that reads what is playing now.
type PlayingSource interface {
	// NowPlaying returns what the account plays, the zero Playing for nothing; ErrNotOffered where this server, or this
	// authorization, doesn't let that be read. It makes one call.
	NowPlaying(context.Context) (library.Playing, error)
}

// PlaylistSource is an adapter that reads playlists.
type PlaylistSource interface {
	// Playlists yields the user's playlists without their tracks, page by page. An error ends the sequence.
	Playlists(context.Context) iter.Seq2[[]library.Playlist, error]
	// Tracks yields the tracks of one playlist in their order, page by page. An error ends the sequence. What the
	// playlist lists and the provider does not give is told to the LeaveOut.
	Tracks(context.Context, library.Playlist, LeaveOut) iter.Seq2[[]library.Track, error]
}

// LoveSource is an adapter that reads what an account loves.
type LoveSource interface {
	// Loves yields the tracks that the account loves, and where the provider has that, those that it hates, page by
	// page, the latest first. An error ends the sequence; ErrNotOffered where this server, or this authorization,
	// doesn't let them be read.
	Loves(context.Context) iter.Seq2[LovePage, error]
}

// LovePage is one page of what an account loves.
type LovePage struct {
	Loves []library.Love
	Total int // number of tracks in all pages; 0 when unknown
}

// SongSource is an adapter that lists the songs of a person's own library.
type SongSource interface {
	// Songs yields all songs of the library, page by page. An error ends the sequence; ErrNotOffered where this server
	// doesn't list them.
	Songs(context.Context) iter.Seq2[[]library.Track, error]
}

// VideosAtOnce is the most videos that a VideoSource is asked about in one call.
const VideosAtOnce = 50

// VideoSource is an adapter whose tracks are videos, which have more facts than other tracks. Their SourceIDs are
// the videos' ids.
type VideoSource interface {
	// Videos returns the facts about at most VideosAtOnce videos, in any order. Those that are missing in the result
	// are gone, or closed to the person.
	Videos(ctx context.Context, ids []string) ([]library.Video, error)
	// Named returns the track of a video: who plays what, by its names.
	Named(library.Video) library.Track
	// WhyGone says why a video is not there any more: the reason is VideoPrivate or VideoDeleted.
	WhyGone(reason string) words.Text
}

// ErrNotOffered is returned when this server has the feature disabled. It is not a failure; there is nothing to read.
var ErrNotOffered = errors.New("not offered by this server")

// ListenPage is one page of plays.
type ListenPage struct {
	Listens []library.Listen
	Oldest  time.Time // all plays of the span later than this have been read
	Total   int       // number of plays in the whole span; 0 when unknown
	// Lost means that the provider no longer has the plays between the start of the span and Oldest.
	Lost bool
}

// Guarded returns all streams of the provider: the pulled ones and those of deliveries.
func (p *Provider) Guarded() []string {
	if p.Takes.Nothing() {
		return p.Streams
	}
	return append(p.Streams[:len(p.Streams):len(p.Streams)], library.Deliveries)
}

// SharedPace returns how many calls a second connections that share an app may make together; 0 for no limit. The pace
// of the installation's settings is that of its own host: people's own servers have none.
func (p *Provider) SharedPace(app string) float64 {
	if host := p.APIHost(p.Settings); host == "" || p.NamesServer() && app != host {
		return 0
	}
	return p.Settings.Rate()
}

// Pulls reports whether the stream is pulled from the provider.
func (p *Provider) Pulls(stream string) bool {
	return slices.Contains(p.Streams, stream)
}

// InBrowser reports whether people connect on the provider's consent page and not with a form.
func (p *Provider) InBrowser() bool { return p.OAuth != nil || p.SignIn != nil }

// Asks returns the labels of the required fields of the connect form, with their alternatives.
func (p *Provider) Asks() (labels []words.Text) {
	for _, f := range p.Fields {
		if i := slices.IndexFunc(p.Fields, func(other Field) bool { return other.Name == f.Or }); i >= 0 {
			labels = append(labels, words.New("provider.either", "One", f.Label, "Other", p.Fields[i].Label))
		} else if !f.Optional {
			labels = append(labels, f.Label)
		}
	}
	return labels
}

// Registered reports whether the installation is registered, so that people can consent.
func (p *Provider) Registered() bool {
	consents := p.OAuth == nil || p.OAuth.ClientID != "" && (p.OAuth.ClientSecret != "" || !p.OAuth.Confidential)
	return consents && (p.SignIn == nil || p.SignIn.Ready)
}

// ToRegister returns the paths of the settings that Registered requires, and the page where to get them.
func (p *Provider) ToRegister() (settings []string, page string) {
	if !p.InBrowser() || p.Registration == nil {
		return nil, ""
	}
	return p.paths(func(s Setting) bool { return isIdentity(s) && s.Required }), p.Registration.Page
}
