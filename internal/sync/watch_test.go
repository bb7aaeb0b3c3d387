package sync_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"reprise/internal/demo"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/oauth"
	syncer "reprise/internal/sync"
)

const nowPath = "/v1/me/player/currently-playing"

// hearer keeps what a Watch tells.
type hearer struct {
	mu      sync.Mutex
	playing string
	told    []string
}

func (h *hearer) Begins(_ int64, from library.ConnectionID, p library.Playing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text := fmt.Sprintf("%s: %s", from, p.Title); text != h.playing {
		h.playing, h.told = text, append(h.told, text)
	}
}

func (h *hearer) Ends(int64, library.ConnectionID, library.Track) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.playing = ""
}

// heard returns what plays, and all that has been told.
func (h *hearer) heard() (playing string, told []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.playing, slices.Clone(h.told)
}

// watched is an engine that reads listens once an hour, with a Watch, and a person whose Spotify allows these scopes.
func watched(t *testing.T, scopes ...string) (*enginetest.Upstreams, *enginetest.Engine, *hearer, *syncer.Watch) {
	up := enginetest.NewUpstreams()
	e := enginetest.Start(t, t.TempDir(), up, syncer.Options{ListensEvery: time.Hour, PlaylistsEvery: time.Hour}, nil)
	user := e.AddUser("alice", "member")
	up.AddPerson("alice")
	token := up.Spotify.Authorize("alice", scopes...)
	token.Expiry = time.Now().Add(time.Hour)
	_, err := e.Connections.ConnectOAuth(t.Context(), e.Registry.Get("spotify"), user,
		oauth.Grant{Credentials: oauth.Credentials(token), AuthorizedAt: time.Now(),
			ExpiresAt: time.Now().AddDate(0, 6, 0)})
	require.NoError(t, err)
	h := &hearer{}
	w := syncer.NewWatch(e.Guard, e.Store, h, true)
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error { return w.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		require.NoError(t, g.Wait())
	})
	enginetest.Settle()
	return up, e, h, w
}

func asked(up *enginetest.Upstreams) (n int) {
	for _, c := range up.Calls(demo.Spotify) {
		if c.Path == nowPath {
			n++
		}
	}
	return n
}

func TestWhatSpotifyPlaysIsHeardWithinAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up, e, h, w := watched(t, "user-read-recently-played", "user-read-currently-playing", "playlist-read-private")
		time.Sleep(2 * time.Minute)
		_, told := h.heard()
		require.Empty(t, told, "nothing plays")
		up.PlayOn(demo.Spotify, "alice", "Glósóli", time.Now())
		time.Sleep(time.Minute + time.Second)
		playing, _ := h.heard()
		require.Equal(t, "spotify: Glósóli", playing)
		time.Sleep(3 * time.Minute)
		playing, told = h.heard()
		require.Empty(t, playing, "it is over")
		require.Equal(t, []string{"spotify: Glósóli"}, told, "it is told once")

		w.Configure(false)
		before := asked(up)
		time.Sleep(10 * time.Minute)
		require.Equal(t, before, asked(up), "switched off")
		require.Empty(t, e.Open(1))
	})
}

// An authorization from before Reprise asked for that permission goes on reading listens, and is not asked each minute.
func TestAnOlderAuthorizationDoesNotSayWhatPlays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up, e, h, _ := watched(t, "user-read-recently-played", "playlist-read-private")
		up.PlayOn(demo.Spotify, "alice", "Glósóli", time.Now())
		time.Sleep(3 * time.Hour)
		require.Equal(t, 1, asked(up))
		_, told := h.heard()
		require.Empty(t, told)
		require.Equal(t, syncer.Healthy, e.Status(1, "spotify").Condition)
		require.Empty(t, e.Open(1))
		require.Equal(t, 1, e.Listens(1), "listens are read")
	})
}

// What is refused about this one call is nobody's trouble; what says that the whole service is in trouble is noted as
// from any other call.
func TestTroubleWithWhatPlays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up, e, _, _ := watched(t, "user-read-recently-played", "user-read-currently-playing", "playlist-read-private")
		up.FailPath(demo.Spotify, nowPath, enginetest.Status(http.StatusNotFound))
		time.Sleep(10 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(1, "spotify").Condition)
		require.Equal(t, 1, asked(up), "it is asked again a day later")
		require.Empty(t, e.Open(1))
		up.FailPath(demo.Spotify, nowPath, nil)
		time.Sleep(24 * time.Hour)
		require.Greater(t, asked(up), 1)

		before := asked(up)
		up.FailPath(demo.Spotify, nowPath, enginetest.Status(http.StatusTooManyRequests, "Retry-After", "1800"))
		time.Sleep(20 * time.Minute)
		require.LessOrEqual(t, asked(up), before+2, "the wait that was dictated is kept")
		require.Equal(t, syncer.Held, e.Status(1, "spotify").Condition)
	})
}
