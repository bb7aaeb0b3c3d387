package sync_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/notify"
)

// songs returns the titles of songs.
func songs(from, to int) (titles []string) {
	for i := from; i < to; i++ {
		titles = append(titles, fmt.Sprint("Song ", i))
	}
	return titles
}

// lossOf returns the latest loss of the playlists of a connection.
func lossOf(t *testing.T, e *enginetest.Engine, user int64, conn library.ConnectionID) library.PlaylistLoss {
	t.Helper()
	all, err := e.Store.Losses(context.Background(), user, conn)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all[0]
}

// onlyOpen returns a person's only open notification.
func onlyOpen(t *testing.T, e *enginetest.Engine, user int64) notify.Notification {
	t.Helper()
	open := e.Open(user)
	require.Len(t, open, 1)
	return open[0]
}

// Promise: When a service stops offering songs of a playlist, its person learns that once, with a button to what the
// playlist was like.
func TestSongsThatAServiceStopsOfferingAreTold(t *testing.T) {
	restartableWith(t, rare, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", "admin")
		up.SetPlaylist("alice", "Road trip", songs(0, 200)...)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Spotify.Withdraw("Song 199")
		time.Sleep(8 * 24 * time.Hour) // it is read again once a week
		require.Empty(t, e.Open(user), "one song goes now and then")
		require.Equal(t, library.Loss{Songs: 1, Taken: true}, lossOf(t, e, user, "spotify").Loss)

		up.Spotify.Withdraw(songs(3, 15)...)
		time.Sleep(2 * 24 * time.Hour) // a list with a track that is left out is looked at daily
		n := onlyOpen(t, e, user)
		require.Equal(t, "Spotify no longer offers 12 songs of Road trip", n.Title.String())
		require.Equal(t, notify.Warning, n.Severity)
		lost := lossOf(t, e, user, "spotify")
		require.Equal(t, fmt.Sprintf("/playlists/%d/history/%d", lost.Playlist, lost.Version), n.Action.URL)
		_, was, err := e.Store.Version(context.Background(), user, lost.Playlist, lost.Version)
		require.NoError(t, err)
		require.Len(t, was, 199)

		e.Stop()
		e = start()
		time.Sleep(3 * 24 * time.Hour)
		require.Equal(t, n.CreatedAt, onlyOpen(t, e, user).CreatedAt, "it is told once")
		time.Sleep(30 * 24 * time.Hour)
		require.Empty(t, e.Open(user), "nobody is reminded for ever")
	})
}

// Promise: When many songs are gone from a playlist and nothing says who removed them, the notification says that they
// are gone, and no more.
func TestManySongsThatGoAtOnceAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		set := func(titles ...string) {
			up.SetPlaylist("alice", "Road trip", titles...)
			require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
			enginetest.Settle()
		}
		up.SetPlaylist("alice", "Road trip", songs(0, 60)...)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		set(songs(3, 60)...)
		set(songs(15, 61)...)
		require.Empty(t, e.Open(user), "that is how people edit")
		set(songs(27, 61)...)
		n := onlyOpen(t, e, user)
		require.Equal(t, "12 songs are gone from Road trip at Spotify", n.Title.String())
		require.Equal(t, notify.Info, n.Severity)

		set(songs(15, 61)...)
		require.Empty(t, e.Open(user), "they are back")
		set(songs(27, 61)...)
		require.Len(t, e.Open(user), 1)
		require.NoError(t, e.Connections.Disconnect(context.Background(), user, "spotify", false))
		require.Empty(t, e.Open(user))
	})
}

// Promise: A person learns once that videos of a playlist were deleted, although they keep their places.
func TestVideosThatAreDeletedAreTold(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		videos := rain(up, 30)
		time.Sleep(11 * time.Minute)
		for _, v := range videos[:6] {
			up.Vanish(v, "deleted")
		}
		time.Sleep(50 * time.Hour) // the list is read once a day, each at its own hour
		n := onlyOpen(t, e, admin)
		require.Equal(t, "YouTube no longer offers 6 songs of PLrain", n.Title.String())
		lost := lossOf(t, e, admin, "youtube")
		tracks, known := tracksOf(t, e, admin)
		require.Len(t, tracks, 30)
		at, was, err := e.Store.Version(context.Background(), admin, lost.Playlist, lost.Version)
		require.NoError(t, err)
		require.Equal(t, tracks, was)
		for _, v := range videos[:6] {
			require.WithinRange(t, known[v].GoneSince, at.Since, at.Until)
		}
		time.Sleep(3 * 24 * time.Hour)
		require.Equal(t, lost, lossOf(t, e, admin, "youtube"))
		require.Equal(t, n.CreatedAt, onlyOpen(t, e, admin).CreatedAt)
	})
}
