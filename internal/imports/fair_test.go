package imports_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/words"
)

// dead is a store whose process ends after some pages: nothing reaches it from then on.
type dead struct {
	*store.Store
	pages int
	stop  context.CancelFunc
}

func (d *dead) SaveImported(
	ctx context.Context, v imports.Import, plays []library.Listen,
) (imports.Import, error) {
	if d.pages--; d.pages < 0 {
		d.stop()
		return v, context.Canceled
	}
	return d.Store.SaveImported(ctx, v, plays)
}

func (d *dead) SaveCrashes(ctx context.Context, id int64, crashes int) error {
	if d.pages < 0 {
		return context.Canceled
	}
	return d.Store.SaveCrashes(ctx, id, crashes)
}

// dies runs a process that ends after some pages.
func (b *bench) dies(pages int) {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	require.NoError(b.t, b.runner(&dead{b.db, pages, stop}).Run(ctx))
}

func (b *bench) open() []notify.Notification {
	b.t.Helper()
	all, err := b.db.Notifications(b.t.Context(), b.user, true)
	require.NoError(b.t, err)
	return all
}

// friend adds a person and returns their ID.
func (b *bench) friend(name string) int64 {
	b.t.Helper()
	u, err := b.db.AddUser(b.t.Context(),
		accounts.User{Name: name, PasswordHash: "-", Role: accounts.Member, CreatedAt: time.Now()}, false)
	require.NoError(b.t, err)
	return u.ID
}

func (b *bench) send(user int64, plays int) imports.Import {
	b.t.Helper()
	v, err := b.Receive(b.t.Context(), user, sent("spotify", "a.zip", bytes.NewReader(export(b.t, plays))))
	require.NoError(b.t, err)
	return v
}

func (b *bench) state(user, id int64) imports.Import {
	b.t.Helper()
	all, err := b.db.Imports(b.t.Context(), user)
	require.NoError(b.t, err)
	for _, v := range all {
		if v.ID == id {
			return v
		}
	}
	b.t.Fatal("no such import")
	return imports.Import{}
}

func TestAFileThatKillsIsSetAside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad, next := b.send(b.user, 3000), b.send(b.user, 10)
	b.dies(1)
	require.Equal(t, 1000, b.state(b.user, bad.ID).Added)
	b.dies(0)
	require.Equal(t, imports.Running, b.state(b.user, bad.ID).State)
	require.Empty(t, b.open())
	b.dies(0)
	b.finish(b.runner(b.db))
	v := b.state(b.user, bad.ID)
	require.Equal(t, imports.Failed, v.State)
	require.Contains(t, v.Reason.String(), "Reprise stopped 3 times while it was reading this file after row 1,0")
	require.Equal(t, imports.Done, b.state(b.user, next.ID).State, "the rest goes on")
	told := b.open()
	require.Len(t, told, 1)
	require.Contains(t, told[0].Message.String(), "a.zip")
	require.Contains(t, told[0].Message.String(), "set the file aside")
	require.Equal(t, "/imports", told[0].Action.URL)
	require.NoError(t, b.Cancel(t.Context(), b.user, bad.ID))
	require.Empty(t, b.open(), "it goes with the import")
}

func TestAnImportWithProgressIsNotSetAside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.send(b.user, 9000)
	for range 7 {
		b.dies(1)
	}
	for range 4 { // an orderly end is no crash
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, b.runner(&killed{b.db, 0, stop}).Run(ctx))
	}
	b.finish(b.runner(b.db))
	require.Equal(t, imports.Done, b.state(b.user, v.ID).State)
	require.Equal(t, 9000, b.count())
	require.Empty(t, b.open())
}

// order notes how many rows of each person's file were read whenever a page was stored.
type order struct {
	*store.Store
	mu   sync.Mutex
	rows map[int64]int
	ends []map[int64]int // the rows of all when an import was done
}

func (o *order) SaveImported(
	ctx context.Context, v imports.Import, plays []library.Listen,
) (imports.Import, error) {
	v, err := o.Store.SaveImported(ctx, v, plays)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows[v.User] = v.Rows
	if v.State == imports.Done {
		all := map[int64]int{}
		maps.Copy(all, o.rows)
		o.ends = append(o.ends, all)
	}
	return v, err
}

func TestASmallFileDoesNotWaitForAHugeOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	friend, third := b.friend("Ben"), b.friend("Cleo")
	b.send(b.user, 18_000)
	b.send(b.user, 10)
	b.send(friend, 10)
	b.send(third, 7000)
	o := &order{Store: b.db, rows: map[int64]int{}}
	b.finish(b.runner(o))
	require.Len(t, o.ends, 4)
	require.Equal(t, 10, o.ends[0][friend])
	require.LessOrEqual(t, o.ends[0][b.user], 10_200, "one turn or two")
	require.Equal(t, 7140, o.ends[1][third])
	require.LessOrEqual(t, o.ends[1][b.user], 16_000)
	require.Equal(t, 10, o.ends[3][b.user], "the files of one person are read one after the other")
	require.Equal(t, 18_010, b.count())
}

// noRows is an import of rows that are no listens, and of much space between them.
func noRows(spaces int) io.Reader {
	const row = `{"ts":"2024-03-05T18:04:30Z","ms_played":1,"master_metadata_track_name":"T",` +
		`"master_metadata_album_artist_name":"A"}`
	return io.MultiReader(strings.NewReader("["+row+","), bytes.NewReader(bytes.Repeat([]byte(" "), spaces)),
		strings.NewReader(row+"]"))
}

func TestAFileWithoutRowsLetsOthersHaveTheirTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	friend := b.friend("Ben")
	long := io.MultiReader(noRows(7<<20), strings.NewReader("\n"))
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "long.json", long))
	require.NoError(t, err)
	b.send(friend, 10)
	b.finish(b.Runner)
	all, err := b.db.Imports(t.Context(), friend)
	require.NoError(t, err)
	require.Equal(t, imports.Done, all[0].State)
}

func TestRowsOfAFileAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.SetMaxRows(2500)
	v := b.send(b.user, 4000)
	b.finish(b.Runner)
	v = b.state(b.user, v.ID)
	require.Equal(t, imports.Failed, v.State)
	require.Equal(t, 2500, v.Rows)
	require.Equal(t, b.count(), v.Added)
	require.Contains(t, v.Reason.String(), "more than 2,500 rows")
	require.Len(t, b.open(), 1)
}

func TestAFileThatTheDiskCannotHoldIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := export(t, 20_000) // some 6 MB in the database
	free := int64(imports.Reserve)
	c := b.config(b.db)
	c.Free, c.RowBytes = func() (int64, bool) { return free, true }, 310
	b.Runner = imports.New(c)
	for _, room := range []int64{-5 << 20, 3 << 20} {
		free = imports.Reserve + room
		_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(file)))
		short, ok := errors.AsType[*imports.RoomError](err)
		require.True(t, ok, "%v", err)
		require.Contains(t, short.Problem().String(),
			fmt.Sprintf("%d MiB are free, but 64 MiB of that are kept", 64+room>>20))
		require.Empty(t, b.files())
	}
	require.Error(t, b.Room(4<<20))
	free = imports.Reserve + 32<<20
	require.NoError(t, b.Room(4<<20))
	_, err := b.Receive(t.Context(), b.user, sent("spotify", "a.zip", bytes.NewReader(file)))
	require.NoError(t, err)
}

// full is a store on a disk that is full for a while.
type full struct {
	*store.Store
	mu   sync.Mutex
	full bool
}

func (f *full) set(full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = full
}

func (f *full) SaveImported(
	ctx context.Context, v imports.Import, plays []library.Listen,
) (imports.Import, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full && v.Rows > 2000 {
		return v, &resilience.LocalError{Problem: words.Plain("The disk is full. Make room on it."),
			Err: io.ErrShortWrite}
	}
	return f.Store.SaveImported(ctx, v, plays)
}

func TestAnImportWaitsForRoomAndGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))) // after the plays of the files
		b := setup(t)
		friend := b.friend("Ben")
		db := &full{Store: b.db, full: true}
		b.Runner = b.runner(db)
		v := b.send(b.user, 4000)
		small := b.send(friend, 100)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = b.Run(ctx) })
		time.Sleep(time.Second) // of the bubble's clock: until all that can be done is done
		synctest.Wait()
		require.Equal(t, imports.Running, b.state(b.user, v.ID).State)
		require.Equal(t, "The disk is full. Make room on it.", b.Trouble(v.ID).String())
		require.Equal(t, b.Trouble(v.ID), b.AnyTrouble())
		require.Equal(t, imports.Done, b.state(friend, small.ID).State, "what still fits is read")
		time.Sleep(10 * time.Minute)
		require.NotEmpty(t, b.Trouble(v.ID).String())
		db.set(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, b.AnyTrouble().String())
		require.Equal(t, imports.Done, b.state(b.user, v.ID).State)
		require.Equal(t, 4000, b.count())
		stop()
		running.Wait()
	})
}

func TestImportsLeaveRoomForEverythingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))) // after the plays of the files
		b := setup(t)
		var mu sync.Mutex
		free := int64(1 << 30)
		c := b.config(b.db)
		c.RowBytes, c.Free = 310, func() (int64, bool) {
			mu.Lock()
			defer mu.Unlock()
			return free, true
		}
		b.Runner = imports.New(c)
		v, other := b.send(b.user, 3000), b.send(b.user, 10)
		mu.Lock()
		free = imports.Reserve - 1<<20
		mu.Unlock()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = b.Run(ctx) })
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, b.Trouble(v.ID).String(), "Only 63 MiB are free on this server's disk")
		require.NoError(t, b.Cancel(t.Context(), b.user, v.ID), "it can be canceled meanwhile")
		require.Empty(t, b.Trouble(v.ID).String())
		time.Sleep(time.Minute)
		mu.Lock()
		free = 1 << 30
		mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, imports.Done, b.state(b.user, other.ID).State)
		require.Equal(t, 10, b.count())
		stop()
		running.Wait()
	})
}
