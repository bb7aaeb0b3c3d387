package store

import (
	"fmt"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/cluster"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/store/servers"
)

// versions returns the migrations of three versions, a step apart each: the second one adds, and the third one takes
// away what the second doesn't need any more.
func versions(t testing.TB) (first, second, third fs.FS) {
	t.Helper()
	next := func(before fs.FS, step int, text string) fs.FS {
		all := maps.Clone(before.(fstest.MapFS))
		all[fmt.Sprintf("%05d_next.sql", step)] = &fstest.MapFile{
			Data: fmt.Appendf(nil, "-- works with: %d\n\n-- +goose Up\n%s", step-1, text)}
		return all
	}
	first = steps(t, "")
	second = next(first, newest(t)+1, moods)
	return first, second, next(second, newest(t)+2, "DROP TABLE moods;")
}

// fleet is the servers of a database, each of a version.
type fleet struct {
	*testing.T
	at    db.Place
	key   *db.Key
	book  *servers.Book
	lease int64
}

// open opens the database as a server does, under a lease or beside the one that leads.
func (f *fleet) open(version string, files fs.FS, lease int64) (*Store, error) {
	return openWith(f.Context(), f.at, f.key,
		Options{Options: db.Options{Version: version, Shared: true, Lease: lease}}, files)
}

// follows opens the database beside the server that leads.
func (f *fleet) follows(version string, files fs.FS) *Store {
	f.Helper()
	s, err := f.open(version, files, 0)
	require.NoError(f, err)
	f.Cleanup(func() { _ = s.Close() })
	return s
}

// leads opens the database as the next leader does.
func (f *fleet) leads(version string, files fs.FS) (*Store, error) {
	f.Helper()
	require.NoError(f, f.book.Resign(f.Context(), f.lease))
	var err error
	f.lease, err = f.book.Claim(f.Context(), cluster.Server{ID: version})
	require.NoError(f, err)
	s, err := f.open(version, files, f.lease)
	if err == nil {
		f.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// Promise: Servers of two versions a step apart share a Postgres database, whichever of them leads. An older one than
// that is refused, and told which version to install.
func TestTwoVersionsShareAPostgres(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := atThisVersion(t)
	f := &fleet{T: t, at: in(t, dir), key: testKey(t, testSecret)}
	var err error
	f.book, err = servers.Open(t.Context(), f.at, f.key)
	require.NoError(t, err)
	defer f.book.Close()
	first, second, third := versions(t)
	step := newest(t)

	_, err = f.leads("0.1.0", first)
	require.NoError(t, err)
	old := f.follows("0.1.0", first)
	_, err = f.open("0.2.0", second, 0)
	require.ErrorContains(t, err, fmt.Sprintf("is of an earlier version of Reprise (step %d, this one knows %d). A "+
		"server of this version brings it up to date when it leads", step, step+1))
	require.Equal(t, step, version(t, old))

	alice, err := old.UserByName(t.Context(), "alice")
	require.NoError(t, err)
	stop, stopped := make(chan struct{}), make(chan int)
	go func() { // the older server goes on while the newer one changes the database
		for n := 0; ; n++ {
			select {
			case <-stop:
				stopped <- n
				return
			default:
			}
			one := listen(float64(5 * (n + 1)))
			_, err := old.SaveListens(t.Context(), library.Intake{User: alice.ID, Connection: "spotify",
				Listens: []library.Listen{one}})
			assert.NoError(t, err)
		}
	}()
	leader, err := f.leads("0.2.0", second)
	close(stop)
	more := <-stopped
	require.NoError(t, err)
	require.Equal(t, step+1, version(t, leader))
	require.NoError(t, old.Fits(t.Context()))
	require.Equal(t, 50+more, count(t, leader, alice.ID))
	bob := addUser(t, old, "Bob", accounts.Member)
	require.Equal(t, 2, number(t, leader, "SELECT count(*) FROM users WHERE mood = 'calm'"))
	save(t, leader, bob, "spotify", repeat(3, 5)...)
	require.Equal(t, 3, count(t, old, bob))

	leader, err = f.leads("0.1.0", first)
	require.NoError(t, err, "the older one leads again")
	require.Equal(t, step+1, version(t, leader))
	require.Equal(t, "0.2.0", db.UpgradedBy(t.Context(), leader.Reader, int64(step+1)))
	save(t, leader, bob, "spotify", listen(77))
	follower := f.follows("0.2.0", second)
	require.Equal(t, 4, count(t, follower, bob))
	save(t, follower, bob, "spotify", listen(99))
	require.Equal(t, 5, count(t, leader, bob))
	require.NoError(t, f.book.Resign(t.Context(), f.lease))
	require.NoError(t, leader.Close())

	_, err = f.leads("0.3.0", third)
	require.NoError(t, err)
	require.NoError(t, follower.Fits(t.Context()))
	require.Equal(t, 5, count(t, follower, bob))
	refused := fmt.Sprintf("was written by Reprise 0.3.0 (step %d, this one knows %d). Install Reprise 0.3.0 or a "+
		"later version again", step+2, step)
	require.ErrorContains(t, old.Fits(t.Context()), refused)
	require.ErrorContains(t, db.RefuseNewer(t.Context(), f.at), refused)
	_, err = f.open("0.1.0", first, 0)
	require.ErrorContains(t, err, refused)
	_, err = f.leads("0.1.0", first)
	require.ErrorContains(t, err, refused)
}

// What has the database for itself, and what copies it, still needs the version that wrote it.
func TestANewerDatabaseIsOnlyShared(t *testing.T) {
	t.Parallel()
	dir := atThisVersion(t)
	first, second, _ := versions(t)
	s := requireData(t, dir, second)
	require.NoError(t, s.Close())
	_, err := openWith(t.Context(), in(t, dir), testKey(t, testSecret), Options{}, first)
	require.ErrorContains(t, err, "was written by a newer version of Reprise")
	_, err = OpenBeside(t.Context(), in(t, dir))
	require.ErrorContains(t, err, "is of another version of Reprise than this program")
	_, err = CopyDatabase(t.Context(), copying(in(t, dir), target(t), t))
	require.ErrorContains(t, err, "is of another version of Reprise than this program")
	look, err := db.LookAt(t.Context(), in(t, dir), false, testKey(t, testSecret))
	require.NoError(t, err)
	require.True(t, look.Usable())
	require.NotNil(t, look.Settings, "a server starts with what administrators have set")
}
