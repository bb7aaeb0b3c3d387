package backups

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/s3test"
	"reprise/internal/store"
)

// home is a household with an administrator and three listens.
type home struct {
	*Backups
	t     *testing.T
	dir   datadir.Dir
	store *store.Store
	admin int64
}

func newHome(t *testing.T) *home {
	t.Helper()
	ctx := context.Background() // of the cleanup, too
	h := &home{t: t, dir: datadir.Dir{Path: t.TempDir()}}
	var err error
	h.store, err = h.dir.Open(ctx, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.store.Close()) })
	u, err := h.store.AddUser(ctx, accounts.User{Name: "Ann", PasswordHash: "none", Role: accounts.Admin,
		CreatedAt: time.Now()}, false)
	require.NoError(t, err)
	h.admin = u.ID
	_, err = h.store.SaveConnection(ctx, library.Connection{User: u.ID, ID: "listenbrainz", AccountID: "x",
		CreatedAt: time.Now(), Credentials: library.Credentials{"token": "a token"}})
	require.NoError(t, err)
	return h
}

// serve runs the backups with these settings until the test ends, in its bubble.
func (h *home) serve(settings config.Backup) {
	bus := &events.Bus{}
	h.Backups = New(Options{Dir: h.dir, Store: h.store, Notifier: notify.New(h.store, bus, nil), Bus: bus,
		Client: http.DefaultClient, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, settings)
	ctx, stop := context.WithCancel(h.t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	h.t.Cleanup(func() {
		stop()
		require.NoError(h.t, <-ended)
	})
	synctest.Wait()
}

// pass lets time go by.
func (h *home) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// told returns what the administrator has been told and is still true.
func (h *home) told() (causes []string) {
	open, err := h.store.Notifications(h.t.Context(), h.admin, true)
	require.NoError(h.t, err)
	for _, n := range open {
		causes = append(causes, n.Cause)
	}
	return causes
}

func (h *home) files(folder string) (names []string) {
	all, err := os.ReadDir(folder)
	require.NoError(h.t, err)
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

const day = 24 * time.Hour

func TestEachNightABackupIsMadeAndTheOldestGoes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	folder := filepath.Join(t.TempDir(), "nas")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, other := range []string{"holiday.db", "reprise-0123456789abcdef-20200101-030000.db"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, other), nil, 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		h := *h
		h.t = t
		h.serve(config.Backup{Daily: true, Keep: 3, Folder: folder})
		require.Len(t, h.Status().Copies, 1, "there was none, so the first one is made at once")
		h.pass(10*day + 12*time.Hour) // noon
		s := h.Status()
		require.Len(t, s.Copies, 3)
		for i, c := range s.Copies {
			require.Equal(t, 3, c.Made.Hour(), "at night")
			require.Equal(t, time.Now().AddDate(0, 0, -i).Day(), c.Made.Day())
			require.Positive(t, c.Bytes)
		}
		require.Empty(t, s.Failed)
		names := h.files(folder)
		require.Len(t, names, 5)
		require.Contains(t, names, "holiday.db", "what isn't ours stays")
		require.Contains(t, names, "reprise-0123456789abcdef-20200101-030000.db", "and that of another installation")
		require.Empty(t, h.told())
		require.NotContains(t, h.files(h.dir.Path), "trial")
	})
}

func TestALatestBackupIsRestoredForTrialEachMonth(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	synctest.Test(t, func(t *testing.T) {
		h := *h
		h.t = t
		h.serve(config.Backup{Daily: true, Keep: 2})
		first := h.Status()
		require.Equal(t, first.Copies[0].Name, first.Of)
		require.Empty(t, first.Trial)
		h.pass(31 * day)
		second := h.Status()
		require.Equal(t, 30*day, second.Tried.Sub(first.Tried).Truncate(day))

		// The disk damages the latest one.
		latest := filepath.Join(h.dir.Path, "backups", second.Copies[0].Name)
		b, err := os.ReadFile(latest)
		require.NoError(t, err)
		for i := len(b) / 2; i < len(b)/2+8192; i++ {
			b[i] = 0xff
		}
		require.NoError(t, os.WriteFile(latest, b, 0o600))
		require.NoError(t, h.Try())
		require.ErrorIs(t, h.Make(), ErrBusy)
		synctest.Wait()
		require.NotEmpty(t, h.Status().Trial)
		require.Equal(t, []string{"backup_trial"}, h.told())

		h.pass(day) // a sound one is made, and tried
		require.Empty(t, h.Status().Trial)
		require.Empty(t, h.told())
	})
}

func TestAdministratorsHearThatThereIsNoBackup(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	synctest.Test(t, func(t *testing.T) {
		h := *h
		h.t = t
		h.serve(config.Backup{Keep: 7})
		h.pass(6 * day)
		require.Empty(t, h.told(), "a new installation has time")
		h.pass(2 * day)
		require.Equal(t, []string{"backup_none"}, h.told())
		require.NoError(t, h.Make())
		synctest.Wait()
		require.Empty(t, h.told())
		h.pass(8 * day)
		require.Equal(t, []string{"backup_old"}, h.told())
		h.Configure(config.Backup{Daily: true, Keep: 7})
		synctest.Wait()
		require.Empty(t, h.told())
		require.Len(t, h.Status().Copies, 2)
	})
}

func TestAFailedBackupIsToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	folder := filepath.Join(t.TempDir(), "nas")
	require.NoError(t, os.WriteFile(folder, []byte("no folder"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		h := *h
		h.t = t
		h.serve(config.Backup{Daily: true, Keep: 7, Folder: folder})
		require.Equal(t, []string{"backup_failed"}, h.told())
		require.Contains(t, h.Status().Failed, folder)
		require.NoError(t, os.Remove(folder))
		h.pass(time.Hour + lookEvery)
		require.Empty(t, h.told())
		require.Len(t, h.Status().Copies, 1)
	})
}

// What a restart has to know is stored: a month is not counted from the start.
func TestARestartRemembersTheTrial(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	synctest.Test(t, func(t *testing.T) {
		first := *h
		first.t = t
		first.serve(config.Backup{Daily: true, Keep: 7})
		before := first.Status()
		again := *h
		again.t = t
		again.serve(config.Backup{Daily: true, Keep: 7})
		require.Equal(t, before.Tried.UTC(), again.Status().Tried.UTC())
		require.Equal(t, before.Of, again.Status().Of)
	})
}

func TestBackupsGoToAStorage(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s3 := s3test.Start(t)
	s3.MakeBucket("music")
	bus := &events.Bus{}
	b := New(Options{Dir: h.dir, Store: h.store, Notifier: notify.New(h.store, bus, nil), Bus: bus,
		Client: http.DefaultClient, Log: slog.New(slog.NewTextHandler(io.Discard, nil))},
		config.Backup{Keep: 1, Bucket: config.Bucket{Address: s3.URL, Name: "music/at/home",
			AccessKey: s3.AccessKey, SecretKey: "wrong"}})
	b.do(t.Context(), copying)
	require.Contains(t, b.Status().Failed, "music/at/home")
	require.NotContains(t, b.Status().Failed, "wrong")

	b.Configure(config.Backup{Keep: 1, Bucket: config.Bucket{Address: s3.URL, Name: "music/at/home",
		AccessKey: s3.AccessKey, SecretKey: "correct/horse+battery"}})
	b.do(t.Context(), copying)
	s := b.Status()
	require.Empty(t, s.Failed)
	require.Len(t, s.Copies, 1)
	require.Contains(t, s3.Objects("music"), "at/home/"+s.Copies[0].Name)
	require.Equal(t, s.Copies[0].Name, s.Of, "it was fetched, and restored for trial")
	require.Empty(t, s.Trial)

	from, c, err := b.Open(t.Context(), s.Copies[0].Name)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, from)
	require.NoError(t, err)
	require.Equal(t, c.Bytes, n)
	require.NoError(t, from.Close())
	require.Equal(t, s.Copies[0].Bytes, n)
	_, _, err = b.Open(t.Context(), "reprise-../../secret.key")
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, left := range h.files(h.dir.Path) {
		require.NotContains(t, []string{"sending", "fetched.db", "trial"}, left)
	}
}
