package channels_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// taker is an account at Last.fm, which accepts a listen a second.
type taker struct {
	mu       sync.Mutex
	rejects  bool // the sign-in
	accepted int
}

func (a *taker) Prove(context.Context) (p providers.Account, err error) { return p, nil }

func (a *taker) Submit(_ context.Context, plays []library.StoredListen) ([]error, error) {
	time.Sleep(time.Second)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rejects {
		return nil, &resilience.AnswerError{Endpoint: "POST x", Status: 401}
	}
	a.accepted += len(plays)
	return make([]error, len(plays)), nil
}

func (a *taker) rejecting(yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rejects = yes
}

// forwards connects Last.fm, and sends it what Spotify plays from now on.
func (h *house) forwards() {
	h.t.Helper()
	_, err := h.db.SaveConnection(h.t.Context(), library.Connection{User: h.user, ID: "lastfm", AccountID: "id",
		Account: "ann", Credentials: library.Credentials{"token": "x"}, CreatedAt: time.Now()})
	require.NoError(h.t, err)
	_, err = h.carried.Forward(h.t.Context(), h.user, "lastfm", false)
	require.NoError(h.t, err)
}

// plays plays this many tracks on Spotify, one a second.
func (h *house) plays(n int) {
	h.t.Helper()
	for range n {
		h.pass(time.Second)
		now := time.Now()
		title := fmt.Sprint("Track at ", now)
		_, err := h.db.SaveListens(h.t.Context(), library.Intake{User: h.user, Connection: "spotify",
			Listens: []library.Listen{{SourceID: title, PlayedAt: now,
				Track: library.Track{Title: title, Artist: "Artist", Duration: time.Minute}}}})
		require.NoError(h.t, err)
	}
}

// reconnects makes Last.fm accept its sign-in again, and sends what waits there.
func (h *house) reconnects() {
	h.t.Helper()
	h.lastfm.rejecting(false)
	h.backoff.Retry(backoff.Key{User: h.user, Provider: "lastfm", Connection: "lastfm",
		Stream: library.Deliveries})
	require.NoError(h.t, h.carried.Release(h.t.Context(), h.user, "lastfm"))
}

func TestARecoverySaysWhatWasSent(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.forwards()
		h.plays(2)
		h.pass(5 * time.Second)
		require.Equal(t, 2, h.lastfm.accepted, "before the trouble")
		h.lastfm.rejecting(true)
		h.plays(12)
		h.pass(20 * time.Second)
		require.Equal(t, []string{"Reconnect Last.fm"}, h.phone.heard())
		h.reconnects()
		h.pass(8 * time.Second)
		require.Empty(t, h.phone.heard(), "most of them are still on their way")
		h.pass(20 * time.Second)
		require.Equal(t, 14, h.lastfm.accepted)
		require.Len(t, h.phone.got, 1)
		require.Regexp(t, `^Last\.fm works again after .+\. Reprise sent what was waiting: 12 listens\.$`,
			h.phone.got[0].Text)
	})
}

func TestARecoverySaysWhatWasReadAndSent(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.forwards()
		h.lastfm.rejecting(true)
		h.plays(1)
		h.pass(5 * time.Second)
		h.phone.heard()
		h.reconnects()
		h.pass(2 * time.Second)
		require.NoError(t, h.db.SaveRun(t.Context(), library.Run{User: h.user, Connection: "lastfm",
			Stream: library.Listens, Started: time.Now(), Took: time.Millisecond, Rows: 37, Result: "ok"}))
		h.pass(5 * time.Second)
		require.Len(t, h.phone.got, 1)
		require.Contains(t, h.phone.got[0].Text,
			"Reprise caught up on 37 listens and sent what was waiting: 1 listen.")
	})
}

func TestALongBacklogDoesNotDelayTheNews(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.forwards()
		h.lastfm.rejecting(true)
		h.plays(80)
		h.phone.heard()
		h.reconnects()
		h.pass(70 * time.Second)
		require.Len(t, h.phone.got, 1)
		require.Regexp(t, `Reprise sent \d\d listens so far; \d\d listens to go\.$`, h.phone.got[0].Text)
	})
}

func TestTroubleWithReadingSaysNothingOfSending(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.forwards()
		about := notify.Notification{User: h.user, Connection: "lastfm", Cause: "permission:listens",
			Generation: 1, Severity: notify.Error, Category: "permission", Title: words.Plain("It stopped"),
			Message: words.Plain("It stopped.")}
		require.NoError(t, h.notifier.Open(t.Context(), about))
		h.plays(3)
		h.pass(3 * time.Second)
		h.phone.heard()
		require.NoError(t, h.notifier.Resolve(t.Context(), h.user, "lastfm", about.Cause))
		h.pass(5 * time.Second)
		require.Len(t, h.phone.got, 1)
		require.Equal(t, "Last.fm works again after less than a minute.", h.phone.got[0].Text)
	})
}
