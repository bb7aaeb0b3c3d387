package listenbrainz

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/demo/demotest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

const rain = "96485e27-967a-492c-9d04-c5a819baa2f3"

// simulated returns an adapter for Alice at a simulated ListenBrainz, where she has the playlist "Rain". stopAt makes
// requests whose path ends in path fail; none for an empty one.
func simulated(t *testing.T) (a *adapter, stopAt func(path string)) {
	w, far := demotest.Start(t, demo.ListenBrainz, rain, nil)
	end := ""
	call := providertest.Call(tripper(func(r *http.Request) (*http.Response, error) {
		if end != "" && strings.HasSuffix(r.URL.Path, end) {
			return providertest.Always(http.StatusServiceUnavailable, `{"code":503,"error":"busy"}`).RoundTrip(r)
		}
		return far.RoundTrip(r)
	}))
	cred := library.Credentials{tokenField: w.ListenBrainz.Token(demo.Alice), userField: demo.Alice}
	a = providertest.New(Describe()).Open(call, cred).(*adapter)
	return a, func(path string) { end = path }
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ids reads the MBIDs of a playlist.
func ids(t *testing.T, a *adapter, list string) (all []string) {
	pages, err := collect(a.Tracks(t.Context(), library.Playlist{SourceID: list}, nil))
	require.NoError(t, err)
	for _, track := range slices.Concat(pages...) {
		all = append(all, track.SourceID)
	}
	return all
}

// named returns a playlist of the listing.
func named(t *testing.T, a *adapter, id string) library.Playlist {
	pages, err := collect(a.Playlists(t.Context()))
	require.NoError(t, err)
	all := slices.Concat(pages...)
	i := slices.IndexFunc(all, func(l library.Playlist) bool { return l.SourceID == id })
	require.GreaterOrEqual(t, i, 0, id)
	return all[i]
}

func TestAPlaylistIsMadeAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := simulated(t)
		songs := ids(t, a, rain)
		require.Len(t, songs, 130)
		many := slices.Concat(songs, songs)
		id, err := a.CreatePlaylist(t.Context(), "Long", many)
		require.NoError(t, err)
		require.Equal(t, many, ids(t, a, id), "260 in three calls")
		require.Equal(t, "Long", named(t, a, id).Name)

		few := []string{songs[2], songs[0], songs[2]}
		require.NoError(t, a.ReplacePlaylist(t.Context(), id, "Short", few))
		require.Equal(t, few, ids(t, a, id))
		require.Equal(t, "Short", named(t, a, id).Name)
		require.NoError(t, a.ReplacePlaylist(t.Context(), id, "Short", nil))
		require.Empty(t, ids(t, a, id))
	})
}

func TestARenamedPlaylistStaysAsPublicAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := simulated(t)
		for name, public := range map[string]bool{rain: true, create(t, a): false} {
			require.NoError(t, a.ReplacePlaylist(t.Context(), name, "Renamed", ids(t, a, rain)[:1]))
			l, err := a.playlist(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, public, l.Playlist.Extension.Playlist.Public)
		}
	})
}

func create(t *testing.T, a *adapter) string {
	id, err := a.CreatePlaylist(t.Context(), "Mine", nil)
	require.NoError(t, err)
	return id
}

func TestAFailureInBetweenShortensNoPlaylist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, stopAt := simulated(t)
		songs := ids(t, a, rain)
		for _, path := range []string{"/item/add", "/item/delete"} {
			stopAt(path)
			require.Error(t, a.ReplacePlaylist(t.Context(), rain, "Rain", songs[5:10]))
			stopAt("")
			require.Equal(t, songs, ids(t, a, rain)[:130], path)
		}
		require.NoError(t, a.ReplacePlaylist(t.Context(), rain, "Rain", songs[5:10]))
		require.Equal(t, songs[5:10], ids(t, a, rain), "what the failed call had added is gone")
	})
}

func TestAPlaylistThatCannotBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := simulated(t)
		err := a.ReplacePlaylist(t.Context(), "00000000-967a-492c-9d04-000000000000", "Gone", nil)
		require.True(t, resilience.IsItem(err), "%v", err)
		err = a.ReplacePlaylist(t.Context(), "weekly-jams", "Weekly Jams", nil)
		require.True(t, resilience.IsItem(err), "%v", err)
		refused, _ := errors.AsType[*resilience.AnswerError](err)
		require.Contains(t, refused.Meaning.Advice.String(), "made it")
	})
}

func TestTracksAreFoundByTheirIDOrTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := simulated(t)
		mine := library.Track{Title: "Roygbiv", Artist: "Boards of Canada",
			RecordingMBID: "8a16b6a1-32ff-4d52-a07b-a6b0f1a0ba55"}
		found, err := a.Find(t.Context(), mine)
		require.NoError(t, err)
		require.Equal(t, mine.RecordingMBID, found[0].SourceID)
		found, err = a.Find(t.Context(), library.Track{Title: "Roygbiv", Artist: "Boards of Canada"})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Regexp(t, mbidForm, found[0].SourceID)
		found, err = a.Find(t.Context(), library.Track{Title: "Unheard", Artist: "Nobody"})
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

func TestAServerWithoutPlaylistsOffersNone(t *testing.T) {
	a := open(func(*http.Request) (int, http.Header, string) { return http.StatusNotFound, nil, "not found" })
	a.server = server{base: "http://koito.home", host: "koito.home", own: true}
	_, err := a.CreatePlaylist(t.Context(), "Mine", nil)
	require.ErrorIs(t, err, providers.ErrNotOffered)
	found, err := a.Find(t.Context(), library.Track{Title: "Roygbiv", Artist: "Boards of Canada"})
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestManySongsAreLookedUpInFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, stopAt := simulated(t)
		pages, err := collect(a.Tracks(t.Context(), library.Playlist{SourceID: rain}, nil))
		require.NoError(t, err)
		tracks := slices.Concat(pages...)
		want := ids(t, a, rain)
		for i := 1; i < len(tracks); i++ { // the first has its MBID
			tracks[i].RecordingMBID, tracks[i].SourceID = "", ""
		}
		tracks[7].Artist, want[7] = "", ""
		tracks[8].Title, want[8] = strings.Repeat("ä", 250), ""
		tracks[9].Artist, want[9] = "Nobody knows", ""
		calls := 0
		near := a.call.Client
		a.call.Client = &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			calls++
			return near.Transport.RoundTrip(r)
		})}
		found, err := a.FindAll(t.Context(), tracks)
		require.NoError(t, err)
		require.Equal(t, 3, calls, "for 127 of 130 songs")
		got := make([]string, len(found))
		for i, one := range found {
			if len(one) > 0 {
				got[i] = one[0].SourceID
			}
		}
		require.Equal(t, want, got)
		stopAt("/lookup/")
		_, err = a.FindAll(t.Context(), tracks)
		require.Error(t, err)
		stopAt("")
		_, err = providertest.New(Describe()).Open(providertest.Call(providertest.Always(http.StatusNotFound, "")),
			library.Credentials{tokenField: "t", userField: "ann", urlField: "https://koito.example"}).(*adapter).
			FindAll(t.Context(), tracks)
		require.ErrorIs(t, err, providers.ErrNotOffered, "another server, which has no such call")
	})
}
