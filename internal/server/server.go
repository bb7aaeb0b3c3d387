// Package server is the web side of Reprise: pages, JSON API, websocket and Server-Sent Events.
//
// It puts together a core, which knows who asks and how an answer looks, and one subpackage per resource, which
// has its
// handlers, its views and an interface of what it reads. A page and its API call share the code that does the
// work; they
// differ in how they answer. Pages work without JavaScript; with it they follow the events of their user. Every
// request
// needs a session, or in the API a token, except for the few that are open to everybody; and every request that
// changes
// something must come from this origin.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"reprise/internal/accounts"
	"reprise/internal/art"
	"reprise/internal/asks"
	"reprise/internal/backups"
	"reprise/internal/comparing"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/enrich"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/openid"
	"reprise/internal/players"
	"reprise/internal/providers"
	"reprise/internal/removal"
	"reprise/internal/server/admin"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/edge"
	"reprise/internal/server/feed"
	"reprise/internal/server/signin"
	"reprise/internal/settings"
	syncer "reprise/internal/sync"
	"reprise/internal/throttle"
	"reprise/internal/weekly"
)

// Config is what the server needs to know and to work with.
type Config struct {
	Reach              // Server.Configure changes it
	OwnNames  []string // the machine's own names, which are also allowed
	Version   string
	SetupCode string // one-time code in the first account's link; empty when there is an account

	Store       Store
	Accounts    *accounts.Accounts
	Removals    *removal.Remover
	Sessions    core.SessionStore
	Limits      throttle.Limits     // of trying secrets; nil: this server counts them for itself
	Registry    *providers.Registry // the providers that people connect to
	Services    *providers.Registry // those that only the installation calls; nil: none
	Connections *syncer.Connections
	Syncer      *syncer.Syncer
	Deliveries  *delivery.Deliveries
	Backups     *backups.Backups
	Imports     *imports.Runner
	Playing     *players.Now
	Digests     *digest.Runner
	Asks        *asks.Asks
	Client      *http.Client      // for trials of what an administrator enters
	Comparing   *comparing.Client // of links to other servers like this one
	Enrichment  *enrich.Runner
	Guard       *syncer.Guard
	Art         *art.Cache         // nil: no pictures are kept
	Settings    *settings.Settings // nil: they cannot be changed
	Flow        *oauth.Flow
	Issuers     *openid.Issuers // where people can sign in; nil: nowhere but here
	Notifier    *notify.Notifier
	Courier     *notify.Courier
	Reports     *weekly.Reports
	PushKey     string // by which push services know this installation; public
	Bus         *events.Bus
	Breakers    Breakers
	Uplink      Uplink
	Log         *slog.Logger
	Metrics     http.Handler // nil: /metrics does not exist
	Rollup      *metrics.Rollup
	// Flush, if set, returns when other servers show what was done before. It is called before a request is answered
	// that may have changed something.
	Flush    func(context.Context)
	Counters *metrics.Metrics // nil: what players send isn't counted

	// Demo, when set, returns what is shown at /demo/ to those who are signed in, with what shows a page within the
	// frame of all pages. DemoUser is signed in without a password.
	Demo     func(show func(http.ResponseWriter, *http.Request, templ.Component)) http.Handler
	DemoUser int64
}

// Breakers are those of all endpoints that are called.
type Breakers = admin.Endpoints

// Uplink is our own connection to the internet.
type Uplink = connections.Uplink

// Server answers requests. Make it with New and run it with Run.
type Server struct {
	echo  *echo.Echo
	door  http.Handler // echo, with answers compressed
	feed  *feed.Handler
	log   *slog.Logger
	close context.CancelFunc // ends the open streams
	edge  edge.Options

	resources *resources
}

// New returns a Server.
func New(c Config) (*Server, error) {
	now, err := newReach(c.Reach, c.OwnNames)
	if err != nil {
		return nil, err
	}
	at := &reached{}
	at.Store(now)
	closing, cancel := context.WithCancel(context.Background())
	room := edge.NewRoom()
	r, err := newResources(&c, at, room.PerPerson, closing)
	if err == nil {
		var e *echo.Echo
		if e, err = r.routes(); err == nil {
			door := edge.Options{Room: room, Log: c.Log,
				Proxies: func() []netip.Prefix { return at.Load().proxies }}
			return &Server{echo: e, door: compressed(e), feed: r.feed, log: c.Log, close: cancel, resources: r,
				edge: door}, nil
		}
	}
	cancel()
	return nil, err
}

// Router returns what finds the handler of a request. Tests go through all of its routes.
func (s *Server) Router() *echo.Echo { return s.echo }

// Handlers returns the names of the functions behind the calls of the API, by method and path, such as
// "GET /playlists/{id}".
func (s *Server) Handlers() map[string]string { return s.resources.handlers }

// Description returns the description of the API, in YAML.
func (s *Server) Description() ([]byte, error) { return s.resources.described() }

// SignIn returns what asks issuers about those who are signed in. Of several servers, one runs it.
func (s *Server) SignIn() *signin.Handler { return s.resources.signin }

// ServeHTTP implements http.Handler. It answers a HEAD, as monitors send it, like a GET; net/http leaves the body
// out.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.resources.door.Serve(w, r) {
		return
	}
	r = r.WithContext(r.Context()) // a copy: net/http looks at its own
	r.URL = s.resources.core.Local(r.URL)
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	s.door.ServeHTTP(w, r)
}

// Run serves on l until ctx ends. Then it ends the open streams, waits at most grace for the requests under way, and
// returns when nothing is left.
func (s *Server) Run(ctx context.Context, l net.Listener, grace time.Duration) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return Serve(ctx, edge.Listen(l, s.edge), s, grace) })
	g.Go(func() error { return s.Work(ctx) })
	return g.Wait()
}

// Work is Run for a server that another one has answer requests: it keeps the streams until ctx ends, and returns when
// they have ended.
func (s *Server) Work(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	<-ctx.Done()
	s.close()
	s.feed.Wait()
	return nil
}

// Serve has h answer the requests that come through a door until ctx ends. Then it waits at most grace for those under
// way.
func Serve(ctx context.Context, door *edge.Listener, h http.Handler, grace time.Duration) error {
	srv := &http.Server{
		Handler:           h,
		ConnState:         door.State,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // a file that is sent extends it, and the door bounds the writing
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(door.Log.Handler(), slog.LevelDebug),
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(door); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := srv.Shutdown(stop)
		if errors.Is(err, context.DeadlineExceeded) {
			err = srv.Close()
		}
		return err
	})
	return g.Wait()
}
