// Package server is the web side of Reprise: pages, JSON API, websocket and Server-Sent Events.
//
// There is one file per resource. A page and its API call share the code that does the work; they differ in how they
// answer. Pages work without JavaScript; with it they follow the events of their user. Every request but the few that
// are meant for everybody needs a session, or in the API a token, and every request that changes something must come from this origin.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"reprise/internal/accounts"
	"reprise/internal/art"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/enrich"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/web"
)

// Store is what pages and API read.
type Store interface {
	syncer.StatusStore
	HasUsers(context.Context) (bool, error)
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	Users(context.Context) ([]accounts.User, error)
	Listens(ctx context.Context, user int64, before string, limit int) (page []library.StoredListen, next string, err error)
	CountListens(ctx context.Context, user int64) (int, error)
	Playlists(ctx context.Context, user int64) ([]library.StoredPlaylist, error)
	Playlist(ctx context.Context, user, id int64) (library.StoredPlaylist, []library.Track, error)
	Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error)
	Notification(ctx context.Context, user, id int64) (notify.Notification, error)
	DeliveryStore
	RunStore
	ImportStore
	DigestStore
	EnrichmentStore
	TokenStore
	ActivityStore
	Ping(context.Context) error
}

// DeliveryStore is what pages and API read of what is owed to providers.
type DeliveryStore interface {
	Deliveries(ctx context.Context, f delivery.Filter, before string, limit int) (page []delivery.Delivery, next string, err error)
	CountDeliveries(context.Context, delivery.Filter) (map[delivery.State]int, error)
	Subjects(ctx context.Context, user int64, deliveries []int64) (map[int64]delivery.Subject, error)
	ForwardingRules(ctx context.Context, user int64) ([]delivery.Rule, error)
	ForwardingCounts(ctx context.Context, user int64, provider string) (delivery.ForwardingCounts, error)
	ForwardedListens(ctx context.Context, user int64, provider string, limit int) ([]delivery.ForwardedListen, error)
	Copies(ctx context.Context, user int64, kind string) ([]delivery.Copy, error)
	Copy(ctx context.Context, user int64, provider, kind, ref string) (delivery.Copy, error)
	CopyDelivery(ctx context.Context, user int64, provider, kind, ref string) (delivery.Delivery, error)
}

// Config is what the server needs to know and to work with.
type Config struct {
	BaseURL        string   // as browsers reach it, without a trailing slash
	TrustedProxies []string // networks whose X-Forwarded-For is believed
	Version        string
	SetupCode      string            // one-time code of the first account's link; empty when there is an account
	AdminToken     resilience.Secret // of the operator API and the metrics; empty: none

	Store       Store
	Accounts    *accounts.Accounts
	Sessions    scs.CtxStore
	Registry    *providers.Registry
	Connections *syncer.Connections
	Syncer      *syncer.Syncer
	Deliveries  *delivery.Deliveries
	Imports     *imports.Runner
	Digests     *digest.Runner
	Enrichment  *enrich.Runner
	Guard       *syncer.Guard
	Art         *art.Cache // nil: no pictures are kept
	Flow        *oauth.Flow
	Notifier    *notify.Notifier
	Courier     *notify.Courier
	// NamedChannels are those that the settings name; the first account, which is the administrator's, gets them.
	NamedChannels []notify.Channel
	PushKey       string // by which push services know this installation; public
	Bus           *events.Bus
	Breakers      *resilience.Breakers
	Uplink        *resilience.Uplink
	Log           *slog.Logger
	Metrics       http.Handler // nil: /metrics does not exist
	Rollup        *metrics.Rollup

	// Demo, when set, is shown at /demo/ to those who are signed in; DemoUser is signed in without a password.
	Demo     http.Handler
	DemoUser int64
}

// Server answers requests. Make it with New and run it with Run.
type Server struct {
	Config
	echo     *echo.Echo
	sessions *scs.SessionManager
	pages    *web.Pages
	base     *url.URL
	setup    *setupCode

	wrongTokens tries

	closing context.Context // ends when the server stops, so that open streams end first
	close   context.CancelFunc
	streams sync.WaitGroup
}

// New returns a Server.
func New(c Config) (*Server, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, err
	}
	pages, err := web.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, base: base, pages: pages, setup: &setupCode{code: c.SetupCode}}
	s.closing, s.close = context.WithCancel(context.Background())
	s.sessions = newSessions(c.Sessions, base.Scheme == "https")
	if s.echo, err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler. It answers a HEAD, as monitors send it, like a GET; net/http leaves the body out.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		r = r.WithContext(r.Context()) // a copy: net/http looks at its own
		r.Method = http.MethodGet
	}
	s.echo.ServeHTTP(w, r)
}

// Run serves on l until ctx ends, then ends the open streams, waits for the requests under way for at most grace, and
// returns when nothing is left.
func (s *Server) Run(ctx context.Context, l net.Listener, grace time.Duration) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		s.close()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := srv.Shutdown(stop)
		if errors.Is(err, context.DeadlineExceeded) {
			err = srv.Close()
		}
		s.streams.Wait()
		return err
	})
	return g.Wait()
}

// RedirectURI is the address that has to be registered with a provider on whose page people consent.
func (s *Server) RedirectURI(provider string) string {
	return s.BaseURL + "/connect/" + provider + "/callback"
}
