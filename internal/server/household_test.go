package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/asks"
	"reprise/internal/config"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/events"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/providers"
	registered "reprise/internal/providers/registry"
	"reprise/internal/removal"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/settings"
	"reprise/internal/store"
	"reprise/internal/store/outbox"
	"reprise/internal/storetest"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// services are the simulated providers that take listens, playlists and months.
type services struct {
	mu      sync.Mutex
	fails   error           // what every call ends in; nil for none
	refuses string          // the title of the listen that is refused
	has     []library.Track // the catalogue
	taken   []string        // titles
	hangs   bool            // no call ends by itself
	cut     int             // calls that hung and were cut off
	list    []string        // the tracks of the only playlist
	named   string          // its name; empty for a service that does not list it
	gone    bool            // it was deleted
	listed  int             // how often the list of playlists was asked for
	opened  int             // and the tracks of the playlist

	searches int
	deleted  []string
}

func (s *services) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// hang waits until a call is cut off, if calls hang.
func (s *services) hang(ctx context.Context) bool {
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cut++
	}
	return hangs
}

func (s *services) Prove(context.Context) (providers.Account, error) {
	return providers.Account{}, nil
}

func (s *services) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	if s.hang(ctx) {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return nil, s.fails
	}
	outcomes := make([]error, len(plays))
	for i, p := range plays {
		if p.Title == s.refuses {
			outcomes[i] = answer(http.StatusBadRequest, resilience.Item, resilience.ScopeItem,
				"It is too old for this service.")
			continue
		}
		s.taken = append(s.taken, p.Title)
	}
	return outcomes, nil
}

func (s *services) DeleteListen(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails == nil {
		s.deleted = append(s.deleted, id)
	}
	return s.fails
}

func (s *services) Find(_ context.Context, t library.Track) ([]library.Track, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searches++
	return slices.Clone(s.has), s.fails
}

func (s *services) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listed++
		if s.named != "" && !s.gone {
			yield([]library.Playlist{{SourceID: "there", Name: s.named, Snapshot: strings.Join(s.list, "/")}}, s.fails)
		} else if s.fails != nil {
			yield(nil, s.fails)
		}
	}
}

func (s *services) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.opened++; s.gone {
			yield(nil, answer(http.StatusNotFound, resilience.Item, resilience.ScopeItem, "It is gone."))
			return
		}
		var tracks []library.Track
		for _, id := range s.list {
			tracks = append(tracks, library.Track{SourceID: id})
		}
		yield(tracks, nil)
	}
}

func (s *services) CreatePlaylist(ctx context.Context, name string, tracks []string) (string, error) {
	return "there", s.ReplacePlaylist(ctx, "there", name, tracks)
}

func (s *services) ReplacePlaylist(_ context.Context, _, name string, tracks []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.gone = tracks, false
	if s.named != "" {
		s.named = name
	}
	return s.fails
}

func (s *services) Keep(context.Context, string, string, []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "etag", s.fails
}

// answer returns a provider's error answer with its meaning.
func answer(status int, category resilience.Category, scope resilience.Scope, advice string) error {
	return &resilience.AnswerError{Endpoint: "POST /submit", Status: status, Message: "no",
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: category, Scope: scope,
			Advice: words.Plain(advice)}}
}

// household is a server with one person, over a real database and engine, in a bubble of fake time.
type household struct {
	*Server
	Config
	t    testing.TB
	db   *store.Store
	user int64
	far  *services
	gone *removal.Remover

	session []*http.Cookie
}

// catalogue lists the endpoints of the household's providers in the roll-up.
var catalogue = metrics.Catalogue{Providers: []metrics.Provider{{Name: "spotify",
	Endpoints: []metrics.Endpoint{{Host: "api.spotify.com", Name: "GET /v1/me"},
		{Host: "api.spotify.com", Name: "GET /v1/me/playlists"}}},
	{Name: "navidrome", Endpoints: []metrics.Endpoint{{Name: "GET /rest/ping"}}}}}

// newHousehold returns a server for a user who has connected providers that take listens (listenbrainz, two at a time,
// and lastfm), playlists (navidrome) and months (s3), and one whose listens are read (spotify).
func newHousehold(t testing.TB, opt delivery.Options) *household {
	t.Helper()
	ctx := t.Context()
	db := storetest.OpenWith(t, t.TempDir(),
		store.Options{Sending: outbox.Options{Attempts: opt.WithDefaults().Attempts()}})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	u, err := db.AddUser(ctx, accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin,
		CreatedAt: time.Now()}, false)
	require.NoError(t, err)

	h := &household{t: t, db: db, user: u.ID, far: &services{}}
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	reads := []string{library.Playlists} // no listens: else what a service has is read before something is sent
	registry := providers.NewRegistry()
	for _, d := range []providers.Description{
		{Name: "spotify", DisplayName: "Spotify", Streams: []string{library.Listens}},
		{Name: "lastfm", DisplayName: "Last.fm", Streams: reads, Takes: providers.Takes{Listens: delivery.Scrobble,
			Batch: 50, Oldest: 14 * 24 * time.Hour}, History: "https://www.last.fm/user/{account}/library"},
		{Name: "listenbrainz", DisplayName: "ListenBrainz", Streams: reads,
			Takes: providers.Takes{Listens: delivery.SubmitListens, Batch: 2, Deletions: true}},
		{Name: "navidrome", DisplayName: "Navidrome", Streams: reads, Takes: providers.Takes{Playlists: true}},
		{Name: "s3", DisplayName: "S3 archive", Takes: providers.Takes{Archive: true}},
		{Name: "youtube", DisplayName: "YouTube", Streams: reads,
			Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 50}},
	} {
		registry.Replace(&providers.Provider{Description: d,
			App:  func(library.Credentials) string { return d.Name },
			Open: func(resilience.Call, library.Credentials) providers.Adapter { return h.far }})
		if d.Name != "youtube" {
			h.connect(library.ConnectionID(d.Name))
		}
	}
	notifier := notify.New(db, bus, nil)
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: backoff.New(backoff.Options{}),
		Registry: registry, Keys: db, Log: log,
		Alerts: alerts.New(alerts.Options{Store: db, Notifier: notifier, Bus: bus, Log: log})})
	pull := syncer.NewSyncer(syncer.Options{}, guard, db, bus)
	carried := delivery.New(delivery.Parts{Registry: registry, Store: db, Teller: notifier, Bus: bus, Log: log,
		Guard: syncer.DeliveryGuard{Guard: guard, Syncer: pull}}, opt)
	people := accounts.New(db, 2)
	courier := notify.NewCourier(notify.CourierOptions{Store: db, Guard: guard, Notifier: notifier, Bus: bus, Log: log,
		Name: delivery.ChannelName})
	connections := syncer.NewConnections(guard, pull, carried, db, bus)
	h.gone = removal.New(db, bus, log, connections, courier, carried)
	h.Config = Config{Accounts: people, Asks: asks.New(asks.Options{Store: db, Notifier: notifier, Registry: registry,
		AppState: connections.AppState, Log: log}), Courier: courier, Removals: h.gone,
		Reach: Reach{BaseURL: "http://127.0.0.1:8420"}, OwnNames: []string{"example.com"},
		Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Log: log, Store: db,
		Sessions: db.Sessions(), Registry: registry, Bus: bus, Notifier: notifier,
		Imports:     imports.New(imports.Config{Dir: t.TempDir(), Store: db, Bus: bus, Notifier: notifier, Log: log}),
		Connections: connections, Syncer: pull, Deliveries: carried, Guard: guard,
		Digests: digest.New(digest.Config{Guard: guard, Store: db, Bus: bus, Log: log}), DemoUser: u.ID,
		Rollup: metrics.NewRollup(catalogue, db, log)}
	h.Settings, err = settings.Open(t.Context(), settings.Options{Known: registered.Descriptions(), Store: db, Log: log,
		Layers: config.Read("", nil, nil, registered.Descriptions())})
	require.NoError(t, err)
	h.restart()
	return h
}

// restart serves with the configuration as it is now.
func (h *household) restart() {
	h.t.Helper()
	var err error
	h.Server, err = New(h.Config)
	require.NoError(h.t, err)
}

// as makes the following requests those of another user, or of nobody.
func (h *household) as(user int64) {
	h.t.Helper()
	h.DemoUser, h.session = user, nil
	h.restart()
}

func (h *household) connect(id library.ConnectionID) {
	h.t.Helper()
	_, err := h.db.SaveConnection(h.t.Context(), library.Connection{User: h.user, ID: id,
		AccountID: "ann", Account: "ann", App: id.Provider(),
		Credentials: library.Credentials{}, CreatedAt: time.Now()})
	require.NoError(h.t, err)
}

// other makes another account.
func (h *household) other(name string) int64 {
	h.t.Helper()
	u, err := h.db.AddUser(h.t.Context(), accounts.User{Name: name, PasswordHash: "-", Role: accounts.Member,
		CreatedAt: time.Now()}, false)
	require.NoError(h.t, err)
	return u.ID
}

// hear waits a minute for each title, and stores them as listens of Spotify.
func (h *household) hear(titles ...string) {
	h.t.Helper()
	time.Sleep(time.Duration(len(titles)) * time.Minute)
	h.heard(titles...)
}

// heard stores listens of Spotify, the oldest first, a minute apart, the last one just now.
func (h *household) heard(titles ...string) {
	h.t.Helper()
	var plays []library.Listen
	for i, title := range titles {
		at := time.Now().Add(-time.Duration(len(titles)-1-i) * time.Minute).Truncate(time.Millisecond)
		plays = append(plays,
			library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós", Duration: time.Minute},
				SourceID: fmt.Sprint(title, at.UnixMilli()), PlayedAt: at})
	}
	_, err := h.db.SaveListens(h.t.Context(), library.Intake{User: h.user, Connection: "spotify", Listens: plays})
	require.NoError(h.t, err)
}

// carry runs deliveries until nothing more is due.
func (h *household) carry() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(h.t, h.Deliveries.Run(ctx)) })
	for range 10 { // the queue looks every five seconds for what has become due
		time.Sleep(time.Second)
		synctest.Wait()
	}
	cancel()
	running.Wait()
}

// ServeHTTP answers a request, and compares an answer of the API with its description.
func (h *household) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.t.Helper()
	h.Server.ServeHTTP(w, r)
	route := routeOf(h.echo, r)
	if answer, ok := w.(*httptest.ResponseRecorder); ok && strings.HasPrefix(route, "/api/v1/") &&
		answer.Code != http.StatusSwitchingProtocols {
		described.check(h.t, r.Method, route, answer)
	}
}

func (h *household) do(method, path, body, contentType string) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for _, c := range h.session {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		h.session = set
	}
	return w
}

// call makes a call of the API and reads its answer.
func (h *household) call(method, path, body string, status int) map[string]any {
	h.t.Helper()
	w := h.do(method, "/api/v1"+path, body, "application/json")
	require.Equal(h.t, status, w.Code, "%s %s: %s", method, path, w.Body)
	if status >= 400 {
		require.Equal(h.t, "application/problem+json", w.Header().Get("Content-Type"))
	}
	var out map[string]any
	if w.Body.Len() > 0 {
		require.NoError(h.t, json.Unmarshal(w.Body.Bytes(), &out))
	}
	return out
}

// page returns a page, as text does.
func (h *household) page(path string) string {
	h.t.Helper()
	w := h.do(http.MethodGet, path, "", "")
	require.Equal(h.t, http.StatusOK, w.Code, path)
	return text(w)
}

// text returns the body of an answer with each run of white space as one space, as browsers show it.
func text(w *httptest.ResponseRecorder) string { return spaces.ReplaceAllString(w.Body.String(), " ") }

var spaces = regexp.MustCompile(`[ \t\n]+`)

// submit sends a form.
func (h *household) submit(path string, status int, fields ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	w := h.do(http.MethodPost, path, form.Encode(), "application/x-www-form-urlencoded")
	require.Equal(h.t, status, w.Code, "%s: %s", path, w.Body)
	return w
}

// states returns the number of deliveries in each state.
func (h *household) states() map[string]any {
	h.t.Helper()
	return h.call(http.MethodGet, "/deliveries", "", http.StatusOK)["counts"].(map[string]any)
}

// only returns the one delivery that a filter selects.
func (h *household) only(filter string) map[string]any {
	h.t.Helper()
	all := h.call(http.MethodGet, "/deliveries?"+filter, "", http.StatusOK)["deliveries"].([]any)
	require.Len(h.t, all, 1, filter)
	return all[0].(map[string]any)
}

// inBubble runs a test in a bubble of fake time.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Parallel()
	synctest.Test(t, test)
}

var errBox = &resilience.NetworkError{Endpoint: "POST /submit", Err: errors.Join(io.ErrUnexpectedEOF)}
