package updates

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/resilience/transport"
	"reprise/internal/storetest"
)

// forge answers with a list of releases.
type forge struct {
	mu     sync.Mutex
	status int
	list   string
	asked  int
}

// answer changes what it answers.
func (f *forge) answer(status int, list string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.list = status, list
}

// times returns how often it was asked.
func (f *forge) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *forge) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return &http.Response{StatusCode: f.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(f.list)), Request: r}, nil
}

const (
	list = "https://git.example.org/api/releases"
	two  = `[{"tag_name":"v0.3.0-rc.1","prerelease":true},{"tag_name":"nightly"},{"tag_name":"v0.4.0","draft":true},
		{"tag_name":"v0.2.0","html_url":"https://git.example.org/v0.2.0","body":"…"},{"tag_name":"0.1.0"}]`
)

// household has an administrator and a member, on version 0.1.0.
type household struct {
	*Looker
	forge
	t      *testing.T
	log    strings.Builder
	titles func(user int64) []string
	admin  int64
	member int64
}

// inHousehold runs test in a synctest bubble while the looker runs.
func inHousehold(t *testing.T, url string, test func(*household)) {
	t.Helper()
	db := storetest.Open(t, t.TempDir())
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	synctest.Test(t, func(t *testing.T) {
		h := &household{t: t, forge: forge{status: 200, list: two}}
		for _, who := range []struct {
			name string
			role string
			id   *int64
		}{{"Ann", accounts.Admin, &h.admin}, {"Ben", accounts.Member, &h.member}} {
			u, err := db.AddUser(t.Context(), accounts.User{Name: who.name, PasswordHash: "-", Role: who.role}, false)
			require.NoError(t, err)
			*who.id = u.ID
		}
		h.titles = func(user int64) (all []string) {
			open, err := db.Notifications(t.Context(), user, true)
			require.NoError(t, err)
			for _, n := range open {
				all = append(all, n.Title.String()+"; "+n.Message.String())
			}
			return all
		}
		h.Looker = New(Options{Version: "0.1.0", Store: db, Notifier: notify.New(db, &events.Bus{}, nil),
			Client: transport.NewClient(&transport.Transport{Base: &h.forge, UserAgent: "Reprise/0.1.0"}),
			Log:    slog.New(slog.NewTextHandler(&h.log, nil))}, url)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		test(h)
		stop()
		require.NoError(t, <-ended)
	})
}

// later lets time pass.
func (h *household) later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const told = "Reprise 0.2.0 is available; This server runs 0.1.0. When it suits you, install the new version. " +
	"What's new: https://git.example.org/v0.2.0"

func TestAdministratorsHearOfANewVersionOnce(t *testing.T) {
	t.Parallel()
	inHousehold(t, list, func(h *household) {
		h.later(after - time.Second)
		require.Zero(t, h.times())
		h.later(10*every + time.Minute)
		require.Equal(t, 11, h.asked, "once a day")
		require.Equal(t, []string{told}, h.titles(h.admin))
		require.Empty(t, h.titles(h.member))

		h.answer(http.StatusOK, `{"tag_name":"v0.2.1"}`) // the API of the latest one alone, without a page
		h.later(every)
		require.Equal(t, []string{"Reprise 0.2.1 is available; This server runs 0.1.0. When it suits you, install " +
			"the new version."}, h.titles(h.admin), "in the place of the one before")

		h.answer(http.StatusOK, `[{"tag_name":"v0.1.0"}]`) // it was taken back
		h.later(every)
		require.Empty(t, h.titles(h.admin))
	})
}

func TestWithoutAnAddressNobodyIsAsked(t *testing.T) {
	t.Parallel()
	inHousehold(t, "", func(h *household) {
		h.later(10 * every)
		require.Zero(t, h.times())
		h.Configure(list)
		h.later(after + time.Second)
		require.Equal(t, []string{told}, h.titles(h.admin))
		h.Configure("")
		h.later(after + time.Second)
		require.Empty(t, h.titles(h.admin))
		h.later(10 * every)
		require.Equal(t, 1, h.times())
	})
}

func TestAnOddListTellsNobody(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`[]`:                      "",
		`{"message":"not found"}`: "",
		`[{"tag_name":"newest"}]`: "",
		`"v0.2.0"`:                "does not answer with a list of releases",
		`{`:                       "list of releases cannot be read",
	} {
		inHousehold(t, "https://git.example.org/odd", func(h *household) {
			h.answer(http.StatusOK, list)
			h.later(after + time.Second)
			require.Equal(t, 1, h.times())
			require.Empty(t, h.titles(h.admin), list)
			require.Contains(t, h.log.String(), want)
		})
	}
	inHousehold(t, "https://git.example.org/gone", func(h *household) {
		h.answer(http.StatusNotFound, two)
		h.later(after + time.Second)
		require.Contains(t, h.log.String(), "the list of releases cannot be read")
		require.Empty(t, h.titles(h.admin))
	})
}
