// Package core is what every resource of the server builds on: who asks (sessions and tokens), what a request says, and
// how an answer looks (pages and problems).
package core

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/throttle"
	"reprise/internal/words"
)

// Store is what a request needs whatever it is about.
type Store interface {
	tokenStore
	answerStore
	accounts.FactorStore
	HasUsers(ctx context.Context) (bool, error)
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	SetBrowserLanguage(ctx context.Context, user int64, code string) error
	UserByName(ctx context.Context, name string) (accounts.User, error)
	Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error)
	CountDeliveries(context.Context, delivery.Filter) (map[delivery.State]int, error)
	Note(context.Context, activity.Entry) error
	NoteOften(ctx context.Context, e activity.Entry, within time.Duration) error
	// SignedInBefore reports whether a person has signed in before, and whether by the same visit.
	SignedInBefore(ctx context.Context, user int64, visit string) (ever, same bool, err error)
	ConnectionNames(ctx context.Context, user int64) (map[library.ConnectionID]string, error)
}

// Options are what a Core is made from.
type Options struct {
	BaseURL    string            // as browsers reach it, without a trailing slash
	Version    string            // of the program
	SetupCode  string            // one-time code for the first account; empty when there is an account
	AdminToken resilience.Secret // of the operator; empty: none
	Demo       bool              // whether the pages link to the demo
	DemoUser   int64             // signed in without a password; zero: nobody
	Store      Store
	Sessions   SessionStore
	Registry   *providers.Registry // the providers that people connect
	Services   *providers.Registry // those that only the installation calls
	Bus        *events.Bus
	Notifier   *notify.Notifier
	Log        *slog.Logger
	Limits     throttle.Limits // of trying secrets; nil: this server counts them for itself
}

// Core is shared by all resources. Make it with New.
type Core struct {
	Registry *providers.Registry
	Log      *slog.Logger
	Sessions *Sessions
	Access   *Access
	Codes    *accounts.SecondStep

	*Base
	limits  throttle.Limits
	calls   underway
	lines   throttle.Memory // bounds the lines of the log about addresses that are refused
	version string
	demo    bool
	store   Store

	notifier *notify.Notifier
	services *providers.Registry
	notices  []Noticer
}

// New returns a Core.
func New(o Options) (*Core, error) {
	base, err := NewBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Limits == nil {
		o.Limits = &throttle.Memory{}
	}
	sessions := newSessions(o)
	k := &Core{
		Base:     base,
		Registry: o.Registry, Log: o.Log,
		Sessions: sessions, Codes: accounts.NewSecondStep(o.Store),
		Access: &Access{sessions: sessions, store: o.Store, log: o.Log,
			calls: map[string]access{}, wrong: &wrongTokens{limits: o.Limits, known: map[string]bool{}},
			refused: throttle.New(refusedEvery)},
		limits:  o.Limits,
		version: o.Version,
		demo:    o.Demo,
		store:   o.Store,

		services: o.Services,
		notifier: o.Notifier,
	}
	k.Configure(base.url.Load(), o.AdminToken)
	return k, nil
}

// Configure changes where browsers reach this server, and the operator's token.
func (k *Core) Configure(base *url.URL, adminToken resilience.Secret) {
	k.url.Store(base)
	k.Access.adminToken.Store(&adminToken)
	k.Sessions.over(base.Scheme == "https")
}

// Version returns the version of the program.
func (k *Core) Version() string { return k.version }

// UserByID returns a person, or accounts.ErrUnknown.
func (k *Core) UserByID(ctx context.Context, id int64) (accounts.User, error) {
	return k.store.UserByID(ctx, id)
}

// Note writes an entry of the activity log. A failure to write it is logged and otherwise ignored.
func (k *Core) Note(ctx context.Context, e activity.Entry) {
	if err := k.store.Note(ctx, e); err != nil {
		k.Log.Error("activity cannot be noted", "err", err)
	}
}

// Connection returns the connection that a request's path names, with its provider. It need not exist yet.
func (k *Core) Connection(c echo.Context) (library.ConnectionID, *providers.Provider, error) {
	return k.ConnectionIn(c, "id")
}

// ConnectionIn returns the connection that a parameter of a request's path names, with its provider.
func (k *Core) ConnectionIn(c echo.Context, param string) (library.ConnectionID, *providers.Provider, error) {
	id, ok := library.ParseConnectionID(c.Param(param))
	if p := k.Registry.Get(id.Provider()); ok && p != nil {
		return id, p, nil
	}
	return "", nil, NotFound(words.New("problem.not_found.service"))
}

// Services returns all providers: those that people connect, and those that only the installation calls. A language
// model is one of them only if it is set up.
func (k *Core) Services() []*providers.Provider {
	all, model := slices.Clone(k.Registry.All()), k.services.Model()
	for _, p := range k.services.All() {
		if !p.Writes() || p == model {
			all = append(all, p)
		}
	}
	return all
}

// ProviderNames returns the names of the providers that people connect.
func (k *Core) ProviderNames() (names []string) {
	for _, p := range k.Registry.All() {
		names = append(names, p.Name)
	}
	return names
}

// ProviderName returns what the reader of a context calls a provider, set up or not.
func (k *Core) ProviderName(ctx context.Context, name string) string {
	for _, r := range []*providers.Registry{k.Registry, k.services} {
		if p := r.Get(name); p != nil {
			return p.Called().T(ctx)
		}
	}
	return name
}

// NameOf returns what the reader of a context reads for a connection, a provider or a kind of channel, without a name
// that its person may have given the connection.
func (k *Core) NameOf(ctx context.Context, id library.ConnectionID) string {
	if id == library.ByHand {
		return words.T(ctx, "listens.by_hand")
	}
	if id == library.File {
		return words.T(ctx, "import.from_file")
	}
	if id == library.Recipes {
		return words.T(ctx, "recipes.source")
	}
	if name := library.Programs[id.Provider()]; name != "" {
		return name
	}
	if id.Provider() == library.PlayerProvider { // those that are there have names
		return words.T(ctx, "players.gone")
	}
	for _, p := range k.Services() {
		if p.Name == id.Provider() {
			return library.Connection{ID: id}.Label(p.Called().T(ctx))
		}
	}
	if kind, ok := channels.KindOf(string(id)); ok { // channels are called through the same transport as providers
		return kind.Label
	}
	return string(id)
}

// Labels returns a function that does what NameOf does, with the names that a user gave to connections.
func (k *Core) Labels(ctx context.Context, user int64) (func(library.ConnectionID) string, error) {
	names, err := k.store.ConnectionNames(ctx, user)
	return func(id library.ConnectionID) string { return cmp.Or(names[id], k.NameOf(ctx, id)) }, err
}
