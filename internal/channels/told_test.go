package channels_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// receiver is a phone that hears what ntfy is told.
type receiver struct {
	mu     sync.Mutex
	got    []told
	calls  []time.Time
	answer func(told) (int, http.Header, string) // nil takes everything
}

type told struct {
	ID    string
	At    time.Time
	Title string `json:"title"`
	Text  string `json:"message"`
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
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader([]byte(text))), Request: req}, nil
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

// heard are the titles that have arrived since the last time.
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
	db       *store.Store
	notifier *notify.Notifier
	carried  *delivery.Deliveries
	user     int64
	channel  int64
	counted  map[string]int
	stop     func()
}

func inHouse(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, dir: t.TempDir(), phone: &receiver{}, counted: map[string]int{}}
		h.start()
		t.Cleanup(func() { h.stop() })
		u, err := h.db.AddUser(t.Context(), accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin, CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		h.user = u.ID
		ch, err := h.Add(t.Context(), h.wants(notify.Channel{}))
		require.NoError(t, err)
		h.channel = ch.ID
		require.Equal(t, []string{"This is where Reprise tells you"}, h.phone.heard())
		test(t, h)
	})
}

func (h *house) wants(ch notify.Channel) notify.Channel {
	ch.User, ch.Kind, ch.Name, ch.URL = h.user, channels.Ntfy, "My phone", "ntfy://ntfy.example.org/topic"
	if ch.Wishes == (notify.Wishes{}) {
		ch.Wishes = notify.DefaultWishes()
	}
	return ch
}

func (h *house) start() {
	t, ctx := h.t, context.Background()
	key, err := store.NewKey("only-the-tests-use-this-key")
	require.NoError(t, err)
	h.db, err = store.Open(ctx, h.dir, key)
	require.NoError(t, err)
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	backoff := resilience.NewBackoff(resilience.Options{})
	holds, err := h.db.Holds(ctx)
	require.NoError(t, err)
	syncer.Restore(backoff, nil, nil, holds)
	registry := providers.Registry{{Name: "spotify", DisplayName: "Spotify"}}
	h.notifier = notify.New(h.db, bus)
	client := resilience.NewClient(&resilience.Transport{Base: h.phone})
	guard := &syncer.Guard{Backoff: backoff, Registry: registry, Store: h.db, Client: client, Notifier: h.notifier, Bus: bus, Log: log, FirstDelay: time.Second}
	pull := syncer.NewSyncer(syncer.Options{}, guard, h.db, bus)
	h.carried = delivery.New(delivery.Options{Poll: 2 * time.Second}, registry, syncer.Carriers{Guard: guard, Syncer: pull}, h.db, bus, log)
	h.Courier = &notify.Courier{Store: h.db, Sender: channels.New(channels.Config{Client: client, BaseURL: "https://reprise.example.org"}), Guard: guard, Notifier: h.notifier, Bus: bus, Log: log,
		BaseURL: "https://reprise.example.org", Name: delivery.ChannelName, Service: func(string) string { return "Spotify" },
		Added: func(ctx context.Context) { assert.NoError(t, h.carried.ChannelAdded(ctx)) },
		Told:  func(severity, channel, result string) { h.counted[severity+" "+channel+" "+result]++ }}
	h.carried.TellBy(h.Courier)
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

func (h *house) restart() {
	h.stop()
	h.start()
}

func (h *house) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// trouble opens a notification.
func (h *house) trouble(cause string, s notify.Severity) {
	h.t.Helper()
	require.NoError(h.t, h.notifier.Open(context.Background(), notify.Notification{User: h.user, Provider: "spotify", Cause: cause, Severity: s, Category: "auth",
		Title: "Trouble: " + cause, Message: "Something needs you.", Action: notify.Action{Label: "Reconnect", URL: "/connect/spotify"}}))
}

func (h *house) over(cause string) {
	h.t.Helper()
	require.NoError(h.t, h.notifier.Resolve(context.Background(), h.user, "spotify", cause))
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
		titles = append(titles, n.Title)
	}
	return titles
}

func (h *house) deliveries() map[delivery.State]int {
	h.t.Helper()
	counts, err := h.db.CountDeliveries(context.Background(), delivery.Filter{User: h.user, Kind: delivery.Notify})
	require.NoError(h.t, err)
	return counts
}

func TestACauseIsToldOnceOverTicksAndRestarts(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for range 20 {
			h.trouble("auth", notify.Error)
			h.pass(3 * time.Second)
		}
		h.restart()
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
		require.Equal(t, map[delivery.State]int{delivery.Done: 1}, h.deliveries())
		require.Equal(t, 1, h.counted["error ntfy sent"])
	})
}

func TestWhatIsNotWantedIsNotTold(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.trouble("a", notify.Info)
		h.pass(time.Minute)
		require.Empty(t, h.phone.heard())
		require.Empty(t, h.deliveries())
	})
}

func TestARecoveryIsToldWithItsDuration(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.trouble("auth", notify.Error)
		h.pass(40 * time.Minute)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
		h.over("auth")
		h.pass(10 * time.Second)
		require.Equal(t, "Spotify works again after 40 minutes.", h.phone.got[0].Text)
		require.Equal(t, []string{"Spotify works again"}, h.phone.heard())
		h.trouble("auth", notify.Error) // the same cause once more
		h.pass(10 * time.Second)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
	})
}

func TestWhatIsOverBeforeItWasToldIsNotToldAtAll(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.trouble("auth", notify.Error)
		h.over("auth")
		h.trouble("quota", notify.Warning)
		all, err := h.db.Notifications(t.Context(), h.user, true)
		require.NoError(t, err)
		require.NoError(t, h.notifier.Acknowledge(t.Context(), h.user, all[0].ID)) // seen in the browser
		h.pass(time.Minute)
		h.over("quota")
		h.pass(time.Minute)
		require.Empty(t, h.phone.heard())
		require.Zero(t, h.state().Waiting)
	})
}

func TestManyThingsAtOnceAreOneDigest(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for _, cause := range strings.Split("a b c d e", " ") {
			h.trouble(cause, notify.Warning)
		}
		h.pass(10 * time.Second)
		require.Contains(t, h.phone.got[0].Text, "• Trouble: c")
		require.Equal(t, []string{"5 things happened"}, h.phone.heard())
	})
}

func TestAFloodIsGathered(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for _, cause := range strings.Split("a b c d e f g h", " ") {
			h.trouble(cause, notify.Warning)
			h.pass(10 * time.Second)
		}
		require.Len(t, h.phone.heard(), 5)
		require.Equal(t, 3, h.state().Waiting)
		h.pass(10 * time.Minute)
		require.Equal(t, []string{"3 things happened"}, h.phone.heard())
	})
}

func TestQuietHoursWait(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) { // a bubble begins at midnight UTC
		ch := h.state()
		ch.QuietFrom, ch.QuietTo, ch.Zone, ch.ErrorsAtNight = 22*60, 90, "Europe/Vienna", true
		_, err := h.Change(t.Context(), ch)
		require.NoError(t, err)
		h.trouble("warning", notify.Warning)
		h.pass(time.Minute)
		require.Empty(t, h.phone.heard())
		require.Equal(t, map[delivery.State]int{delivery.Scheduled: 1}, h.deliveries(), "no attempt is used up")
		h.trouble("error", notify.Error)
		h.pass(time.Minute)
		require.Equal(t, []string{"Trouble: error"}, h.phone.heard())
		h.restart()
		h.pass(25 * time.Minute) // it is before half past one in Vienna
		require.Empty(t, h.phone.heard())
		h.pass(5 * time.Minute)
		require.Equal(t, []string{"Trouble: warning"}, h.phone.heard())
	})
}

func TestAFailureThatPassesIsTriedAgain(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		require.GreaterOrEqual(t, h.state().Failures, 3)
		require.ElementsMatch(t, []string{"Trouble: auth", "My phone cannot be told"}, h.open())
		h.phone.taking()
		h.pass(10 * time.Minute)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard(), "the trouble with a channel is not told on it")
		require.Equal(t, []string{"Trouble: auth"}, h.open())
		require.Zero(t, h.state().Failures)
	})
}

func TestAWaitThatIsAskedForIsKept(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusTooManyRequests, http.Header{"Retry-After": {"1800"}})
		h.trouble("a", notify.Error)
		h.pass(10 * time.Second)
		tries := h.phone.tries()
		h.phone.taking()
		h.restart()
		h.trouble("b", notify.Error)
		h.pass(29 * time.Minute)
		require.Equal(t, tries, h.phone.tries(), "also across a restart")
		h.pass(2 * time.Minute)
		require.Equal(t, []string{"Trouble: a", "Trouble: b"}, h.phone.heard())
	})
}

func TestAFatalFailureStopsTheChannelUntilItIsMended(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusForbidden, nil)
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		h.restart()
		h.trouble("quota", notify.Error)
		h.pass(5 * time.Minute)
		require.Equal(t, 2, h.phone.tries(), "the first message and one more")
		require.Equal(t, map[delivery.State]int{delivery.Parked: 1}, h.deliveries())
		require.Contains(t, h.open(), "My phone needs you")
		require.Equal(t, "ntfy does not let us send there. Check the token, or what it may do.", h.state().Reason)
		require.Equal(t, 2, h.state().Waiting)

		require.Error(t, h.SendTest(t.Context(), h.user, h.channel))
		h.phone.taking()
		require.NoError(t, h.SendTest(t.Context(), h.user, h.channel))
		h.pass(10 * time.Second)
		require.Equal(t, []string{"A test", "Trouble: auth", "Trouble: quota"}, h.phone.heard())
		require.NotContains(t, h.open(), "My phone needs you")
	})
}

func TestOneBadMessageIsDroppedAndTheRestGoesOut(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.mu.Lock()
		h.phone.answer = func(m told) (int, http.Header, string) {
			if strings.Contains(m.Title, "bad") {
				return http.StatusRequestEntityTooLarge, http.Header{}, "{}"
			}
			return http.StatusOK, http.Header{}, "{}"
		}
		h.phone.mu.Unlock()
		h.trouble("bad", notify.Error)
		h.trouble("good", notify.Error)
		h.pass(time.Minute)
		require.Equal(t, []string{"Trouble: good"}, h.phone.heard())
		require.Equal(t, 1, h.counted["error ntfy dropped"])
		require.Equal(t, map[delivery.State]int{delivery.Done: 1}, h.deliveries())
	})
}

func TestWhatCouldNotBeSentForDaysIsCounted(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("old", notify.Error)
		h.pass(10 * time.Second)
		h.stop()
		h.pass(4 * 24 * time.Hour)
		h.start()
		h.phone.taking()
		h.trouble("new", notify.Error)
		h.pass(time.Minute)
		require.Contains(t, h.phone.got[0].Text, "One message could not be sent for more than three days.")
		require.Equal(t, []string{"2 things happened"}, h.phone.heard())
	})
}

func TestARemovedChannelIsForgotten(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		require.NoError(t, h.Remove(t.Context(), h.user, h.channel))
		h.phone.taking()
		h.pass(5 * time.Minute)
		require.Empty(t, h.phone.heard())
		require.Empty(t, h.deliveries())
		require.Equal(t, []string{"Trouble: auth"}, h.open())
		require.ErrorIs(t, h.Remove(t.Context(), h.user, h.channel), providers.ErrNotFound)
	})
}

func TestChannelsOfTheSettingsComeAndGoWithThem(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		named := []notify.Channel{h.wants(notify.Channel{}), h.wants(notify.Channel{})}
		named[1].URL = "ntfy://ntfy.example.org/other"
		require.NoError(t, h.Adopt(t.Context(), named))
		all, err := h.All(t.Context(), h.user)
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.NoError(t, h.Adopt(t.Context(), named[1:]))
		kept, err := h.All(t.Context(), h.user)
		require.NoError(t, err)
		require.Equal(t, []int64{all[0].ID, all[2].ID}, []int64{kept[0].ID, kept[1].ID})
		require.True(t, kept[1].FromSettings)
		require.ErrorIs(t, h.Remove(t.Context(), h.user, kept[1].ID), notify.ErrNotYours)
		_, err = h.Change(t.Context(), kept[1])
		require.ErrorIs(t, err, notify.ErrNotYours)
		h.trouble("auth", notify.Error)
		h.pass(10 * time.Second)
		require.Equal(t, []string{"Trouble: auth", "Trouble: auth"}, h.phone.heard())
	})
}
