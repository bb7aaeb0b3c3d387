package ownlibrary_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/providers"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// hears stores n plays of a track of an album, one an hour from a day on.
func hears(h *servertest.Household, title, artist, album, day string, n int) {
	h.T.Helper()
	first, err := time.Parse(time.DateOnly, day)
	require.NoError(h.T, err)
	all := make([]library.Listen, n)
	for i := range all {
		all[i] = library.Listen{SourceID: fmt.Sprint(title, day, i), PlayedAt: first.Add(time.Duration(i) * time.Hour),
			Track: library.Track{Title: title, Artist: artist, Album: album, Duration: 3 * time.Minute}}
	}
	_, err = h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: "lastfm", Listens: all})
	require.NoError(h.T, err)
}

// has stores which songs a library has.
func has(h *servertest.Household, songs ...[2]string) (changed int) {
	h.T.Helper()
	keys := map[int64]bool{}
	for _, s := range songs {
		keys[music.MatchKey(s[0], music.Indexed(s[1]))] = true
	}
	changed, err := h.DB.SaveSongs(h.T.Context(), library.Connection{User: h.User, ID: "navidrome"}, keys)
	require.NoError(h.T, err)
	return changed
}

// Promise: A person sees how much of what they have heard their own library could play, and which albums would add the
// most.
func TestWhatALibraryCouldPlay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		const page = "/listening/library"
		require.Contains(t, h.Page(page), `href="/connect/navidrome"`, "there is no library yet")
		h.Registry.Replace(&providers.Provider{Description: providers.Description{Name: "navidrome",
			DisplayName: "Navidrome", Streams: []string{library.Songs}}})
		_, err := h.DB.SaveConnection(t.Context(), library.Connection{User: h.User, ID: "navidrome", AccountID: "n",
			Account: "ann", Credentials: library.Credentials{"url": "http://music.lan"}, CreatedAt: time.Now()})
		require.NoError(t, err)
		for read, said := range map[string]string{"": "The songs of Navidrome haven&#39;t been read yet.",
			library.NotOffered: "Navidrome doesn&#39;t list its songs", "2000-01-01": "Navidrome has no songs."} {
			require.NoError(t, h.DB.SavePosition(t.Context(), h.User, "navidrome", library.Songs, read, words.Text{}))
			require.Contains(t, h.Page(page), said)
		}
		has(h, [2]string{"Hunter", "Björk"})
		require.Contains(t, h.Page(page), "You haven&#39;t heard anything yet.")
		hears(h, "Hunter", "Björk", "Homogenic", "1998-05-01", 6)
		hears(h, "HUNTER", "bjork", "Homogenic", "1999-05-01", 3) // as another service spells it
		hears(h, "Jóga", "Björk", "Homogenic", "1999-06-01", 2)
		hears(h, "Roads", "Portishead", "Dummy", "1999-07-01", 4)
		hears(h, "Glory Box", "Portishead", "Dummy", "1999-07-02", 4)
		hears(h, "A single", "Somebody", "", "1999-08-01", 1)

		said := h.Page(page)
		for _, want := range []string{"Your library has 1 song. It could have played 45% of your 20 listens.",
			"With the first 2 albums below, it would be 95%.", "100% of 6 listens", "21% of 14 listens",
			"Dummy", "2 songs missing", "Homogenic", "1 song missing", `href="/api/v1/stats/library.csv"`} {
			require.Contains(t, said, want)
		}
		require.Contains(t, h.Page("/listening"), `href="/listening/library"`)
		all := h.Call(http.MethodGet, "/stats/library", "", http.StatusOK)
		require.EqualValues(t, 1, all["songs"])
		require.EqualValues(t, 9, all["own"])
		require.Equal(t, []any{map[string]any{"year": 1998., "listens": 6., "own": 6.},
			map[string]any{"year": 1999., "listens": 14., "own": 3.}}, all["years"])
		first := all["albums"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"Dummy", "Portishead", 8., 2.},
			[]any{first["album"], first["artist"], first["listens"], first["tracks"]})
		file := h.Do(http.MethodGet, "/api/v1/stats/library.csv", "", "")
		require.Equal(t, "\ufeffartist,album,tracks,listens\nPortishead,Dummy,2,8\nBjörk,Homogenic,1,2\n",
			file.Body.String())

		// The library gets what it lacked, and loses what it had.
		require.Equal(t, 3, has(h, [2]string{"Roads", "Portishead"}, [2]string{"Glory Box", "Portishead"}))
		require.Equal(t, 0, has(h, [2]string{"Roads", "Portishead"}, [2]string{"Glory Box", "Portishead"}))
		require.Contains(t, h.Page(page), "Your library has 2 songs. It could have played 40% of your 20 listens.")
		has(h, [2]string{"Roads", "Portishead"}, [2]string{"Glory Box", "Portishead"}, [2]string{"Hunter", "Björk"},
			[2]string{"Jóga", "Björk"})
		require.NotContains(t, h.Page(page), "everything that you&#39;ve heard", "a single is on no album")
		has(h, [2]string{"Roads", "Portishead"}, [2]string{"Glory Box", "Portishead"}, [2]string{"Hunter", "Björk"},
			[2]string{"Jóga", "Björk"}, [2]string{"A single", "Somebody"})
		require.Contains(t, h.Page(page), "It has everything that you&#39;ve heard.")
	})
}
