package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/config"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/server"
	"reprise/internal/settings"
)

// living is the wired program with its web side, whose settings can be changed. Nothing runs.
type living struct {
	*app
	t     testing.TB
	held  *settings.Settings
	web   *server.Server
	level slog.LevelVar
	user  int64 // the administrator, who is signed in
	agent string
	asked string // the host

	settings map[string]string // at the start, beside the data directory
	log      slog.Handler      // nil for none
}

func newLiving(t testing.TB) *living {
	t.Helper()
	l := &living{t: t}
	l.wire(seen{l})
	return l
}

// wire wires the program with these upstreams, and makes the administrator's account.
func (l *living) wire(upstreams http.RoundTripper) {
	t := l.t
	l.parts(upstreams)
	u, err := l.accounts.Create(t.Context(), "Alice", "a long enough password", accounts.Admin, true)
	require.NoError(t, err)
	l.user = u.ID
	l.web = l.serve(u.ID)
	l.app.web.Store(l.web)
	l.held.Follow(func(ctx context.Context, before, now config.Config) error {
		l.level.Set(now.LogLevel)
		return l.apply(ctx, before, now)
	})
}

// parts creates every part of the program and connects them.
func (l *living) parts(upstreams http.RoundTripper) {
	t := l.t
	settled := map[string]string{"data_dir": inMemory(t)}
	maps.Copy(settled, l.settings)
	layers := read("", nil, settled)
	c, err := start{layers: layers}.config()
	require.NoError(t, err)
	db, err := dataDir(c).Open(t.Context(), storeOptions(c))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	log := slog.New(cmp.Or[slog.Handler](l.log, slog.DiscardHandler))
	l.held, err = settings.Open(t.Context(), settings.Options{Layers: layers, Known: registry.Descriptions(), Store: db,
		Log: log, Fill: func(c *config.Config) {
			if c.BaseURL == "" {
				c.BaseURL = "http://127.0.0.1:8420"
			}
		}})
	require.NoError(t, err)
	l.app, err = wire(t.Context(), l.held.Config(), db, upstreams, nil, log)
	require.NoError(t, err)
}

// serve returns the web side with somebody signed in.
func (l *living) serve(user int64) *server.Server {
	pages := l.server
	pages.Settings, pages.DemoUser = l.held, user
	srv, err := server.New(pages)
	require.NoError(l.t, err)
	return srv
}

// seen notes how requests introduce themselves. Nothing is reached.
type seen struct{ *living }

func (s seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.agent, s.asked = r.UserAgent(), r.URL.Host
	return nil, errors.New("network is unreachable")
}

// ask sends a request to the server.
func (l *living) ask(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	l.web.ServeHTTP(w, r)
	return w
}

func (l *living) request(method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(l.t.Context(), method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8420", "127.0.0.1:1"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// set changes one setting as an administrator's page does.
func (l *living) set(path, value string) {
	l.t.Helper()
	body, err := json.Marshal(map[string]string{path: value})
	require.NoError(l.t, err)
	w := l.ask(l.request(http.MethodPatch, "/api/v1/admin/settings", string(body)))
	require.Equal(l.t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
}

// introduces returns the User-Agent of a call.
func (l *living) introduces() string {
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "https://api.example.org/", nil)
	require.NoError(l.t, err)
	_, err = resilience.Call{Client: l.client}.Send(r, resilience.Endpoint{Name: "GET /"})
	require.Error(l.t, err)
	return l.agent
}

// comesFrom returns the address that a browser is said to have that fails to sign in through a proxy.
func (l *living) comesFrom() string {
	r := l.request(http.MethodPost, "/api/v1/session", `{"name":"Alice","password":"wrong wrong wrong"}`)
	r.RemoteAddr = "10.0.0.1:1"
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	require.Equal(l.t, http.StatusUnauthorized, l.ask(r).Code)
	log, _, err := l.app.store.Activity(l.t.Context(), activity.Filter{User: l.user}, "", 1)
	require.NoError(l.t, err)
	return log[0].Subject
}

// reaches returns whether a server in the own network may be called.
func (l *living) reaches() bool {
	up, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(l.t, err)
	defer up.Close()
	conn, err := l.hosts.Dial()(l.t.Context(), "tcp", up.Addr().String())
	if err == nil {
		require.NoError(l.t, conn.Close())
	}
	return err == nil
}

func (l *living) adopted() (urls []resilience.Secret) {
	all, err := l.app.store.Channels(l.t.Context(), l.user)
	require.NoError(l.t, err)
	for _, c := range all {
		urls = append(urls, c.URL)
	}
	return urls
}

// settingEffect is what one setting does.
type settingEffect struct {
	value string
	seen  func(*living) any // what it sets
	want  any
}

// settingEffects has each setting of the server that can be changed, with what shows that the change has arrived.
var settingEffects = map[string]settingEffect{
	"base_url": {"https://music.example.org", func(l *living) any {
		_, base := l.channels.Introduced()
		made := l.ask(l.request(http.MethodPost, "/api/v1/admin/invitations", `{}`))
		return []any{base, l.server.Courier.BaseURL(),
			strings.Contains(made.Body.String(), "https://music.example.org/"),
			made.Header().Get("Strict-Transport-Security") != ""}
	}, []any{"https://music.example.org", "https://music.example.org", true, true}},
	"updates.url": {"https://git.example.org/releases", func(l *living) any {
		l.asked = ""
		_ = l.updates.Look(l.t.Context()) // nothing is reached
		return l.asked
	}, "git.example.org"},
	"admin_token": {"sixteen characters at least", func(l *living) any {
		r := l.request(http.MethodGet, "/api/v1/admin/keys", "")
		r.Header.Set("Authorization", "Bearer sixteen characters at least")
		return l.ask(r).Code
	}, http.StatusOK},
	"contact": {"me@example.org", func(l *living) any {
		contact, _ := l.channels.Introduced()
		return []any{contact, strings.Contains(l.introduces(), "me@example.org"),
			l.registry.Get("listenbrainz").Missing, l.services.Get("musicbrainz").Missing, l.hosts.Policy().Contact}
	}, []any{"me@example.org", true, []string(nil), []string(nil), "me@example.org"}},
	"log.level": {"debug", func(l *living) any { return l.level.Level() }, slog.LevelDebug},
	"allowed_hosts": {"reprise.example.net", func(l *living) any {
		r := l.request(http.MethodGet, "/livez", "")
		r.Host = "reprise.example.net"
		return l.ask(r).Code
	}, http.StatusOK},
	"trusted_proxies": {"10.0.0.0/8", func(l *living) any { return l.comesFrom() }, "203.0.113.9"},
	"sync.listens_every": {"7m", func(l *living) any {
		return []any{l.server.Syncer.Every("listens"), l.app.store.Options().ArchiveEvery}
	}, []any{7 * time.Minute, 7 * time.Minute}},
	"sync.playlists_every": {"7m", func(l *living) any { return l.server.Syncer.Every("playlists") }, 7 * time.Minute},
	"sync.now_playing":     {"false", func(l *living) any { return l.app.watch.On() }, false},
	"sync.enrich_every":    {"7m", func(l *living) any { return l.server.Enrichment.Every() }, 7 * time.Minute},
	"sync.workers":         {"3", func(l *living) any { return l.server.Syncer.Options().Workers }, 3},
	"sync.run_timeout": {"3m", func(l *living) any {
		return []any{l.server.Syncer.Options().RunTimeout, l.deliveries.Options().Timeout}
	}, []any{3 * time.Minute, 3 * time.Minute}},
	"backoff.base":     {"7s", func(l *living) any { return l.backoff.Options().Base }, 7 * time.Second},
	"backoff.max":      {"7h", func(l *living) any { return l.backoff.Options().Max }, 7 * time.Hour},
	"backoff.jitter":   {"0.5", func(l *living) any { return l.backoff.Options().Jitter }, 0.5},
	"breaker.failures": {"9", func(l *living) any { return l.endpoints.Breakers.Options().Failures }, 9},
	"breaker.cooldown": {"7s", func(l *living) any { return l.endpoints.Breakers.Options().Cooldown },
		7 * time.Second},
	"breaker.max_open": {"7h", func(l *living) any { return l.endpoints.Breakers.Options().MaxCooldown },
		7 * time.Hour},
	"delivery.first_delay": {"7s", func(l *living) any {
		return []any{l.deliveries.Options().First, l.guard.FirstDelay()}
	}, []any{7 * time.Second, 7 * time.Second}},
	"delivery.max_delay":     {"7h", func(l *living) any { return l.deliveries.Options().Max }, 7 * time.Hour},
	"delivery.max_age":       {"24h", func(l *living) any { return l.deliveries.Options().Age }, 24 * time.Hour},
	"delivery.max_attempts":  {"6", func(l *living) any { return l.app.store.Options().Attempts }, 6},
	"delivery.keep_dead":     {"48h", func(l *living) any { return l.deliveries.Options().KeepDead }, 48 * time.Hour},
	"delivery.workers":       {"2", func(l *living) any { return l.deliveries.Options().Workers }, 2},
	"delivery.backlog_warn":  {"10", func(l *living) any { return l.deliveries.Options().BacklogWarn }, 10},
	"delivery.backlog_limit": {"20", func(l *living) any { return l.deliveries.Options().BacklogLimit }, 20},
	"notify.urls": {"ntfy://ntfy.sh/a-topic", func(l *living) any { return l.adopted() },
		[]resilience.Secret{"ntfy://ntfy.sh/a-topic"}},
	"mqtt.url": {"mqtt://broker.lan", func(l *living) any { return l.app.mqtt.Settings().Broker },
		resilience.Secret("mqtt://broker.lan")},
	"mqtt.topic":     {"music", func(l *living) any { return l.app.mqtt.Settings().Topic }, "music"},
	"mqtt.discovery": {"ha", func(l *living) any { return l.app.mqtt.Settings().Discovery }, "ha"},
	"backup.daily":   {"true", func(l *living) any { return l.server.Backups.Status().Settings.Daily }, true},
	"backup.keep":    {"3", func(l *living) any { return l.server.Backups.Status().Settings.Keep }, 3},
	"backup.folder":  {"/mnt/nas", func(l *living) any { return l.server.Backups.Status().Where }, "/mnt/nas"},
	"art.max_mib":    {"0", func(l *living) any { return l.server.Art.Keeps() }, false},
	"allowed_upstreams": {"nas.lan", func(l *living) any {
		return l.screen.Trusts(l.t.Context(), 0, "nas.lan:4533")
	}, true},
	"allow_private_upstreams": {"false", func(l *living) any { return l.reaches() }, false},
}

// No setting can be changed that then does nothing.
func TestEverySettingDoesWhatItSays(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	values := map[config.Kind]string{config.Text: "a-new-text", config.Secret: "a-new-secret",
		config.Secrets: "a-new-key-abcd,home:another-key-efgh", config.URL: "https://api.example.org/v2",
		config.Rate: "3", config.Price: "0.5"}
	changes := map[string]*string{}
	for _, i := range l.held.All() {
		switch {
		case !i.Fixed.IsZero():
			require.True(t, i.Restart(), "%s: %s", i.Path, i.Fixed)
		case i.Provider != "":
			in := l.services
			if l.registry.Get(i.Provider) != nil {
				in = l.registry
			}
			before := in.Get(i.Provider)
			changes := map[string]*string{}
			name := i.Path[strings.LastIndex(i.Path, ".")+1:]
			value := values[i.Kind]
			if name == "price_out" {
				value = "0.7"
			}
			changes[i.Path] = &value
			for _, other := range []string{"price_in", "price_out"} { // they belong together
				if strings.Contains(i.Path, "price_") {
					changes["providers."+i.Provider+"."+other] = &value
				}
			}
			require.NoError(t, l.held.Change(t.Context(), changes), i.Path)
			now := in.Get(i.Provider)
			require.NotEqual(t, before.Settings[name], now.Settings[name], i.Path)
			require.False(t, now.Settings[name].Empty(), i.Path)
			if i.Kind == config.Secrets && name == "keys" && i.Provider != "openai" {
				require.Equal(t, 2, now.Keys.Size(), i.Path)
			}
		case strings.HasPrefix(i.Path, "backup.s3."): // these belong together
			changes := map[string]*string{}
			for name, value := range map[string]string{"address": "https://s3.lan", "bucket": "music",
				"access_key": "a", "secret_key": "b"} {
				changes["backup.s3."+name] = &value
			}
			require.NoError(t, l.held.Change(t.Context(), changes))
			require.Equal(t, "https://s3.lan/music", l.server.Backups.Status().Where)
		case strings.HasPrefix(i.Path, "auth."): // some of these belong together
			value, ok := signIn[furtherIssuer.ReplaceAllString(i.Path, "oidc.")]
			switch i.Path {
			case "auth.oidc2.issuer":
				value = "https://second.example.org"
			case "auth.oidc3.issuer":
				value = "https://third.example.org"
			}
			require.True(t, ok, "%s can be changed: say to what", i.Path)
			require.NotEqual(t, i.Default, value)
			changes[i.Path] = &value
		default:
			e, ok := settingEffects[i.Path]
			require.True(t, ok, "%s can be changed: say what that does", i.Path)
			require.False(t, reflect.DeepEqual(e.want, e.seen(l)), "%s, before", i.Path)
			l.set(i.Path, e.value)
			require.Equal(t, e.want, e.seen(l), i.Path)
		}
	}
	require.Len(t, changes, len(signIn)+2*9)
	require.NoError(t, l.held.Change(t.Context(), changes))
	issuer := config.Issuer{Issuer: "https://auth.example.org", ClientID: "reprise",
		ClientSecret: "of the client", Scopes: []string{"openid", "groups"}, Button: "Home", AllowGroup: "music",
		AdminGroup: "admins", GroupsClaim: "roles", CreateAccounts: true}
	second, third := issuer, issuer
	second.Issuer, third.Issuer = "https://second.example.org", "https://third.example.org"
	require.Equal(t, config.OpenID{Issuers: [3]config.Issuer{issuer, second, third}, Session: time.Hour,
		Form: config.FormHidden}, l.server.Issuers.Settings())
	require.Equal(t, config.Proxy{Header: "Remote-User", From: []string{"10.0.0.7/32"}, CreateAccounts: true,
		SignOut: "https://auth.example.org/logout"}, l.web.Reach().Proxy)
	require.Equal(t, "everybody", l.web.Reach().SecondStep)
}

// furtherIssuer matches the section of an issuer after the first.
var furtherIssuer = regexp.MustCompile(`oidc[23]\.`)

// signIn are values for the settings about signing in.
var signIn = map[string]string{"auth.require_second_step": "everybody",
	"auth.oidc.issuer": "https://auth.example.org", "auth.oidc.client_id": "reprise",
	"auth.oidc.client_secret": "of the client", "auth.oidc.button": "Home", "auth.oidc.create_accounts": "true",
	"auth.oidc.allow_group": "music", "auth.oidc.admin_group": "admins", "auth.oidc.groups_claim": "roles",
	"auth.oidc.scopes": "openid groups", "auth.oidc.session": "1h", "auth.oidc.password_form": "hidden",
	"auth.proxy_header": "Remote-User", "auth.proxy_from": "10.0.0.7", "auth.proxy_create_accounts": "true",
	"auth.proxy_sign_out": "https://auth.example.org/logout"}

// With nothing set the server starts; what is missing is typed, and the service can be used.
func TestAServiceCanBeUsedOnceItsSettingsAreTyped(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	require.False(t, l.registry.Get("spotify").Registered())
	require.NotEmpty(t, l.registry.Get("listenbrainz").Missing)
	require.Nil(t, l.services.Model())
	l.set("providers.spotify.client_id", "the-client-id")
	l.set("contact", "me@example.org")
	l.set("providers.openai.model", "a-model")
	require.True(t, l.registry.Get("spotify").Registered())
	require.Empty(t, l.registry.Get("listenbrainz").Missing)
	require.NotNil(t, l.services.Model())
	w := l.ask(l.request(http.MethodGet, "/connect/spotify", ""))
	require.Contains(t, w.Header().Get("Location")+w.Body.String(), "the-client-id")
}

// Under the race detector: everything is used while it changes.
func TestSettingsChangeWhileTheyAreUsed(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, work := range append(l.run, l.deliveries.Run) {
		running.Go(func() { _ = work(ctx) })
	}
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				l.ask(l.request(http.MethodGet, "/settings/server", ""))
				l.ask(l.request(http.MethodGet, "/api/v1/connections", ""))
			}
		})
	}
	for range 3 {
		for path, e := range settingEffects {
			l.set(path, e.value)
		}
		for path := range settingEffects {
			require.NoError(t, l.held.Change(ctx, map[string]*string{path: nil}))
		}
	}
	stop()
	running.Wait()
}

// An address of no channel is refused, and a stored one does not keep the server from starting.
func TestAWrongChannelIsRefusedAndSkipped(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	wrong := "ntfy://ntfy.sh/a-topic, nonsense://x"
	err := l.held.Change(t.Context(), map[string]*string{"notify.urls": &wrong})
	refused, ok := errors.AsType[*settings.Refused](err)
	require.True(t, ok)
	require.Contains(t, refused.Error(), "Address 2 in the list")
	require.NoError(t, l.app.store.SaveSettings(t.Context(), []settings.Stored{
		{Path: "notify.urls", Value: wrong, Secret: true}}, nil))
	again, err := settings.Open(t.Context(), settings.Options{Known: registry.Descriptions(), Store: l.app.store,
		Layers: read("", nil, nil), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Empty(t, again.Config().NotifyURLs)
}
