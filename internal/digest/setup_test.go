package digest_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/digest"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/openai"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
	syncer "reprise/internal/sync"
)

const (
	answer = `{"model":"a-model","choices":[{"message":{"content":"A calm week."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":400,"completion_tokens":100}}`
	noQuota    = `{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}`
	speechless = `{"choices":[{"message":{"content":""},"finish_reason":"length"}],` +
		`"usage":{"prompt_tokens":400,"completion_tokens":4000}}`
	tooLong   = `{"error":{"message":"Too long.","code":"context_length_exceeded"}}`
	wrongName = `{"error":{"message":"No such model.","code":"model_not_found"}}`
)

// far is the model's server.
type far struct {
	mu     sync.Mutex
	status int
	body   string
	took   time.Duration
	asked  []string // the bodies of the requests
}

func (f *far) answers(status int, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.body = status, body
}

// prompts returns the bodies of the requests so far.
func (f *far) prompts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// RoundTrip implements http.RoundTripper.
func (f *far) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.asked = append(f.asked, string(body))
	took, status, text := f.took, f.status, f.body
	f.mu.Unlock()
	select {
	case <-time.After(took):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return providertest.Always(status, text).RoundTrip(req)
}

// house is an installation with an administrator and a member, in a bubble that begins on Saturday, 1 January 2000.
type house struct {
	*enginetest.Engine
	*digest.Runner
	t          *testing.T
	dir        string
	far        *far
	keys       []keys.Key
	wrap       func(digest.Store) digest.Store
	every      time.Duration // see digest.Options
	alice, bob int64
	stopRunner func()
}

func inHouse(t *testing.T, story func(t *testing.T, h *house)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &house{
			t:    t,
			far:  &far{status: 200, body: answer},
			wrap: func(s digest.Store) digest.Store { return s },
			dir:  dir,
			keys: []keys.Key{{Secret: "key-one-1111"}, {Secret: "key-two-2222"}},
		}
		h.start()
		h.alice, h.bob = h.AddUser("Alice Liddell", accounts.Admin), h.AddUser("Bob Cratchit", accounts.Member)
		story(t, h)
	})
}

// start starts the installation, as a new process would.
func (h *house) start() {
	h.t.Helper()
	h.Engine = enginetest.Start(h.t,
		h.dir, enginetest.NewUpstreams(),
		syncer.Options{ListensEvery: 1000 * time.Hour, PlaylistsEvery: 1000 * time.Hour}, nil,
	)
	waits, err := h.Store.Cooldowns(h.t.Context())
	require.NoError(h.t, err)
	pool := keys.New("openai", h.keys, backoff.Options{})
	pool.Restore(waits)
	service := openai.Describe().Pool
	client := transport.NewClient(&keys.Transport{Base: providertest.Client(h.far).Transport, Pool: pool,
		Put: service.Put, Advice: service.Advice, Spent: service.Spent, Save: h.Store.SaveCooldowns})
	p := providertest.NewIn(providers.Installation{Keyed: client, Keys: pool}, openai.Describe(), "model", "a-model",
		"price_in", "0.15", "price_out", "0.6", "currency", "EUR")
	h.Runner = digest.New(digest.Config{
		Options: digest.Options{
			Every: h.every,
			Zone:  time.UTC,
			Late:  3 * time.Hour,
		},
		Services: providers.NewRegistry(p),
		Guard:    h.Guard,
		Store:    h.wrap(h.Store),
		Bus:      h.Bus,
		Log:      slog.New(slog.DiscardHandler),
		Reader: func(ctx context.Context, user int64) context.Context {
			u, err := h.Store.UserByID(ctx, user)
			assert.NoError(h.t, err)
			return u.Elsewhere(ctx)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(h.t, h.Run(ctx)) })
	h.stopRunner = func() {
		cancel()
		running.Wait()
	}
	h.t.Cleanup(h.stopRunner)
	enginetest.Settle()
}

// rarely makes the runner look less often, so that the test runs faster.
func (h *house) rarely(every time.Duration) {
	h.t.Helper()
	h.stop()
	h.every = every
	h.start()
}

func (h *house) stop() {
	h.stopRunner()
	h.Stop()
}

// until waits until an hour of a day in January 2000.
func (h *house) until(day, hour int) {
	h.t.Helper()
	at := time.Date(2000, 1, day, hour, 0, 0, 0, time.UTC)
	require.True(h.t, at.After(time.Now()))
	time.Sleep(time.Until(at))
	enginetest.Settle()
}

// hears stores listens of a person, from now on.
func (h *house) hears(user int64, titles ...string) {
	h.t.Helper()
	var plays []library.Listen
	for i, title := range titles {
		at := time.Now().Add(time.Duration(i) * time.Second).Truncate(time.Millisecond)
		plays = append(plays, library.Listen{
			Track:    library.Track{Title: title, Artist: "Sigur Rós", Album: "( )"},
			SourceID: fmt.Sprint(title, at.UnixMilli()),
			PlayedAt: at,
		})
	}
	_, err := h.Store.SaveListens(h.t.Context(), library.Intake{User: user, Connection: "spotify", Listens: plays})
	require.NoError(h.t, err)
}

// written returns a person's digests, the newest first, as "week state".
func (h *house) written(user int64) (all []string) {
	h.t.Helper()
	digests, err := h.Store.Digests(h.t.Context(), user)
	require.NoError(h.t, err)
	for _, d := range digests {
		all = append(all, d.Week+" "+string(d.State))
	}
	return all
}
