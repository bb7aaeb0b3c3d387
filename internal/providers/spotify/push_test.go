package spotify

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

const rain = "37i9dQZF1EP6YuccBxUcC1"

// simulated returns an adapter for Alice, who has granted these scopes, at a simulated Spotify where she has the
// playlist "Rain".
func simulated(t *testing.T, scopes ...string) (*adapter, *demo.World) {
	w, far := demotest.Start(t, demo.Spotify, rain, func(w *demo.World) string {
		return w.Spotify.Authorize(demo.Alice, scopes...).AccessToken
	})
	p := providertest.New(Describe(), "client_id", "client")
	return p.Open(providertest.Call(far), library.Credentials{accountField: demo.Alice}).(*adapter), w
}

// writing returns the scopes of an authorization that allows writing playlists.
func writing() []string { return append(slices.Clone(scopes), further[providers.WritePlaylists]...) }

// ids reads the ids of the tracks of a playlist.
func ids(t *testing.T, a *adapter, list string) (all []string) {
	for page, err := range a.Tracks(t.Context(), library.Playlist{SourceID: list}, nil) {
		require.NoError(t, err)
		for _, track := range page {
			all = append(all, track.SourceID)
		}
	}
	return all
}

func TestAPlaylistIsMadeAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := simulated(t, writing()...)
		songs := ids(t, a, rain)
		require.Len(t, songs, 130)
		id, err := a.CreatePlaylist(t.Context(), "Long", songs)
		require.NoError(t, err)
		require.Equal(t, songs, ids(t, a, id), "in two calls")

		slices.Reverse(songs)
		require.NoError(t, a.ReplacePlaylist(t.Context(), id, "Reversed", songs))
		require.Equal(t, songs, ids(t, a, id))
		local := append([]string{"spotify:local:::Grandpa+plays+the+accordion:187"}, songs[:3]...)
		require.NoError(t, a.ReplacePlaylist(t.Context(), id, "Reversed", local))
		require.Equal(t, songs[:3], ids(t, a, id), "files of the person's own cannot be added")
		require.NoError(t, a.ReplacePlaylist(t.Context(), id, "Empty", nil))
		require.Empty(t, ids(t, a, id))
		names := map[string]string{}
		for page, err := range a.Playlists(t.Context()) {
			require.NoError(t, err)
			for _, l := range page {
				names[l.SourceID] = l.Name
			}
		}
		require.Equal(t, "Empty", names[id])
	})
}

func TestTracksAreFoundByTheirISRCOrTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := simulated(t, writing()...)
		var some []library.Track
		for page, err := range a.Tracks(t.Context(), library.Playlist{SourceID: rain}, nil) {
			require.NoError(t, err)
			some = append(some, page...)
		}
		i := slices.IndexFunc(some, func(t library.Track) bool { return t.ISRC != "" })
		byISRC, byName := some[i], some[i]
		byISRC.Title, byISRC.SourceID = "Another name", ""
		byName.ISRC, byName.SourceID = "", ""
		gone := byName
		gone.ISRC = "XX0000000000" // Spotify has the recording under another ISRC
		for _, want := range []library.Track{byISRC, byName, gone} {
			found, err := a.Find(t.Context(), want)
			require.NoError(t, err)
			right := func(f library.Track) bool { return f.SourceID == some[i].SourceID }
			require.True(t, slices.ContainsFunc(found, right))
		}
		found, err := a.Find(t.Context(), library.Track{Title: "Unheard of", Artist: "Nobody at all"})
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

func TestWritingNeedsItsOwnPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := providertest.New(Describe(), "client_id", "client")
		may := func(granted ...string) bool {
			cred := library.Credentials{providers.ScopeField: strings.Join(granted, " ")}
			return p.May(providers.WritePlaylists, cred)
		}
		require.False(t, may(), "an authorization from before scopes were kept")
		require.False(t, may(scopes...))
		require.True(t, may(writing()...))

		a, _ := simulated(t, scopes...)
		_, err := a.CreatePlaylist(t.Context(), "Mine", nil)
		v := resilience.VerdictOf(err)
		require.Equal(t, resilience.Permission, v.Category)
		require.Equal(t, resilience.ScopeStream, v.Scope, "reading goes on")
	})
}

func TestSomebodyElsesPlaylistStaysAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := simulated(t, writing()...)
		w.SetPlaylist(demo.Spotify, demo.Bob, demo.List{ID: "bobs", Name: "Gym", Privacy: "public",
			Songs: []demo.Song{{Artist: "Boards of Canada", Title: "Roygbiv"}}})
		for id, advice := range map[string]string{"bobs": "somebody else's", "nowhere": "gone"} {
			err := a.ReplacePlaylist(t.Context(), id, "Mine", nil)
			require.True(t, resilience.IsItem(err), "%v", err)
			refused, _ := errors.AsType[*resilience.AnswerError](err)
			require.Contains(t, refused.Meaning.Advice.String(), advice)
		}
	})
}

func TestASearchWithoutAListIsBroken(t *testing.T) {
	p := providertest.New(Describe(), "client_id", "client")
	a := p.Open(providertest.Call(providertest.Always(http.StatusOK, `{}`)), nil).(*adapter)
	_, err := a.Find(t.Context(), library.Track{Title: "Roygbiv", Artist: "Boards of Canada"})
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category)
	_, err = a.CreatePlaylist(t.Context(), "Mine", nil)
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category)
}

func TestALovedTrackIsALikedSong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := simulated(t, append(writing(), "user-library-modify")...)
		id := ids(t, a, rain)[0]
		for _, score := range []int{library.Loved, library.Loved, 0, 0} { // a repeat changes nothing
			was := len(w.Loves(demo.Spotify, demo.Alice))
			at, err := a.Love(t.Context(), library.Love{SourceID: id, Score: score})
			require.NoError(t, err)
			require.Equal(t, id, at)
			require.LessOrEqual(t, len(w.Loves(demo.Spotify, demo.Alice))-was, 1)
			liked := false
			for page, err := range a.Loves(t.Context()) {
				require.NoError(t, err)
				liked = liked || slices.ContainsFunc(page.Loves, func(v library.Love) bool { return v.SourceID == id })
			}
			require.Equal(t, score == library.Loved, liked)
		}
	})
}
