package channels_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
	"reprise/internal/store"
	"reprise/internal/storetest"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// receiver is a phone with the ntfy app.
type receiver struct {
	mu     sync.Mutex
	got    []told
	calls  []time.Time
	answer func(told) (int, http.Header, string) // nil accepts everything
}

type told struct {
	ID    string
	At    time.Time
	Topic string `json:"topic"`
	Title string `json:"title"`
	Text  string `json:"message"`
	Click string `json:"click"`
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	m := told{ID: req.Header.Get("X-Sequence-Id"), At: time.Now()}
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, m.At)
	status, header, text := http.StatusOK, http.Header{}, `{"id":"x"}`
	if r.answer != nil {
		status, header, text = r.answer(m)
	}
	if status == http.StatusOK {
		r.got = append(r.got, m)
	}
	return &http.Response{
		StatusCode: status,
		Header:     header,
		Body:       io.NopCloser(bytes.NewReader([]byte(text))),
		Request:    req,
	}, nil
}

func (r *receiver) answering(status int, header http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func(told) (int, http.Header, string) { return status, header, `{"code":0,"error":"no"}` }
}

func (r *receiver) taking() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = nil
}

// heard returns the titles that have arrived since the last time.
func (r *receiver) heard() (titles []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.got {
		titles = append(titles, m.Title)
	}
	r.got = nil
	return titles
}

func (r *receiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

// house is an installation with one person, in a bubble of fake time.
type house struct {
	*notify.Courier
	t        *testing.T
	dir      string
	phone    *receiver
	lastfm   *taker
	db       *store.Store
	kept     *keptStore
	notifier *notify.Notifier
	carried  *delivery.Deliveries
	backoff  *backoff.Manager
	user     int64
	channel  int64

	mu      sync.Mutex
	counted map[string]int
	stop    func()
	causes  []string // of the troubles so far
}

func inHouse(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, dir: t.TempDir(), phone: &receiver{}, lastfm: &taker{}, counted: map[string]int{}}
		h.start()
		t.Cleanup(func() { h.stop() })
		u, err := h.db.AddUser(t.Context(),
			accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin, CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		h.user = u.ID
		ch, err := h.Add(t.Context(), h.wants(notify.Channel{}))
		require.NoError(t, err)
		h.channel = ch.ID
		require.Equal(t, []string{"Reprise can reach you here"}, h.phone.heard())
		test(t, h)
	})
}

func (h *house) wants(ch notify.Channel) notify.Channel {
	ch.User, ch.Kind, ch.Name, ch.URL = h.user, "ntfy", "My phone", "ntfy://ntfy.example.org/topic"
	if ch.Wishes == (notify.Wishes{}) {
		ch.Wishes = notify.DefaultWishes()
	}
	return ch
}

func (h *house) start() {
	t, ctx := h.t, context.Background()
	h.db = storetest.Open(t, h.dir)
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	manager := backoff.New(backoff.Options{})
	h.backoff = manager
	require.NoError(t, syncer.Restore(ctx, manager, nil, h.db))
	spotify := &providers.Provider{Description: providers.Description{Name: "spotify", DisplayName: "Spotify"}}
	lastfm := &providers.Provider{Description: providers.Description{Name: "lastfm", DisplayName: "Last.fm",
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 1}},
		Open: func(resilience.Call, library.Credentials) providers.Adapter { return h.lastfm }}
	registry := providers.NewRegistry(spotify, lastfm)
	h.notifier = notify.New(h.db, bus, nil)
	client := transport.NewClient(&transport.Transport{Base: h.phone})
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: manager, Registry: registry, Keys: h.db, Client: client,
		Log: log, FirstDelay: time.Second,
		Alerts: alerts.New(alerts.Options{Store: h.db, Notifier: h.notifier, Bus: bus, Log: log})})
	pull := syncer.NewSyncer(syncer.Options{}, guard, h.db, bus)
	const address = "https://reprise.example.org"
	h.kept = &keptStore{ChannelStore: h.db}
	h.Courier = notify.NewCourier(notify.CourierOptions{
		Store:    h.kept,
		Sender:   channels.New(channels.Config{Client: client, BaseURL: address}),
		Guard:    guard,
		Notifier: h.notifier,
		Bus:      bus,
		Log:      log,
		BaseURL:  address,
		Name:     delivery.ChannelName,
		Service:  func(name string) string { return registry.Get(name).DisplayName },
		Reader: func(ctx context.Context, user int64) context.Context {
			u, err := h.db.UserByID(ctx, user)
			if err != nil {
				return ctx
			}
			return u.Elsewhere(ctx)
		},
		Told: h.count,
	})
	h.carried = delivery.New(delivery.Parts{Registry: registry, Guard: syncer.DeliveryGuard{Guard: guard, Syncer: pull},
		Store: h.db, Messenger: h.Courier, Bus: bus, Log: log}, delivery.Options{})
	run, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, h.carried.Run(run)) })
	h.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		require.NoError(t, h.db.Close())
	})
	h.pass(time.Second)
}

func (h *house) count(severity, channel, result string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counted[severity+" "+channel+" "+result]++
}

func (h *house) restart() {
	h.stop()
	h.start()
}

// away waits with the server stopped, because every poll of the queue costs real time.
func (h *house) away(d time.Duration) {
	h.stop()
	h.pass(d)
	h.start()
}

func (h *house) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// where is the connection that has this trouble: each has one of its own.
func (h *house) where(cause string) library.ConnectionID {
	i := slices.Index(h.causes, cause)
	if i < 0 {
		i, h.causes = len(h.causes), append(h.causes, cause)
	}
	if i == 0 {
		return "spotify"
	}
	return library.ConnectionID(fmt.Sprintf("spotify-%d", i+1))
}

// trouble opens a notification.
func (h *house) trouble(cause string, s notify.Severity) {
	h.t.Helper()
	require.NoError(h.t, h.notifier.Open(
		context.Background(),
		notify.Notification{User: h.user, Connection: h.where(cause), Cause: cause, Severity: s, Category: "auth",
			Title: words.Plain("Trouble: " + cause), Message: words.Plain("Something needs you."),
			Action: notify.Action{Label: words.Plain("Reconnect"), URL: "/connect/spotify"}},
	))
}

func (h *house) over(cause string) {
	h.t.Helper()
	require.NoError(h.t, h.notifier.Resolve(context.Background(), h.user, h.where(cause), cause))
}

func (h *house) state() notify.Channel {
	h.t.Helper()
	ch, err := h.db.Channel(context.Background(), h.user, h.channel)
	require.NoError(h.t, err)
	return ch
}

func (h *house) open() (titles []string) {
	h.t.Helper()
	all, err := h.db.Notifications(context.Background(), h.user, true)
	require.NoError(h.t, err)
	for _, n := range all {
		titles = append(titles, n.Title.String())
	}
	return titles
}

func (h *house) deliveries() map[delivery.State]int {
	h.t.Helper()
	counts, err := h.db.CountDeliveries(context.Background(), delivery.Filter{User: h.user, Kind: delivery.Notify})
	require.NoError(h.t, err)
	return counts
}
