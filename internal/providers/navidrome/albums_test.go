package navidrome_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
)

// shelf is a server other than Navidrome, with recently played albums of one song each, an hour apart. It reports when
// songs were played, but not for the albums in mute, and never for albums.
func shelf(t *testing.T, albums int, mute ...int) providers.Adapter {
	t.Helper()
	routes := albumRoutes(t)
	routes["/music/rest/getAlbumList2.view"] = func(req *http.Request) (int, http.Header, string) {
		offset, err := strconv.Atoi(req.FormValue("offset"))
		require.NoError(t, err)
		size, err := strconv.Atoi(req.FormValue("size"))
		require.NoError(t, err)
		var rows []string
		for i := offset; i < min(offset+size, albums); i++ {
			rows = append(rows, fmt.Sprintf(`{"id":"al-%d"}`, i))
		}
		list := strings.Join(rows, ",")
		return 200, nil, `{"subsonic-response":{"status":"ok","albumList2":{"album":[` + list + `]}}}`
	}
	routes["/music/rest/getAlbum.view"] = func(req *http.Request) (int, http.Header, string) {
		i, err := strconv.Atoi(req.FormValue("id")[3:])
		require.NoError(t, err)
		played := fmt.Sprintf(`,"played":%q,"playCount":1`,
			lastPlay.Add(time.Duration(-i)*time.Hour).Format(time.RFC3339))
		for _, m := range mute {
			if m == i {
				played = ""
			}
		}
		song := fmt.Sprintf(`{"id":"tr-%d","title":"T","artist":"A"%s}`, i, played)
		return 200, nil, `{"subsonic-response":{"status":"ok","album":{"song":[` + song + `]}}}`
	}
	return providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Routes(routes)),
		merge(geoff, library.Credentials{"auth": "token", "native": "no"}))
}

// TestAnAlbumWithoutAPlayDoesNotEndTheHistory has an album whose song was replaced. Only several in a row mean that
// the server reports no plays.
func TestAnAlbumWithoutAPlayDoesNotEndTheHistory(t *testing.T) {
	t.Parallel()
	pages, err := listens(t.Context(), shelf(t, 30, 0, 1, 4, 25), library.Span{})
	require.NoError(t, err)
	require.Len(t, all(pages), 26)
	pages, err = listens(t.Context(), shelf(t, 30, 0, 1, 4, 25), library.Span{After: lastPlay.Add(-5 * time.Hour)})
	require.NoError(t, err)
	require.Len(t, all(pages), 2, "it stops at known plays")
	pages, err = listens(t.Context(), shelf(t, 30, 4, 5, 6), library.Span{})
	require.NoError(t, err)
	require.Len(t, all(pages), 4)
}

// TestAHistoryOfAlbumsIsResumed expects no page for albums that an earlier run has read, because pages of a run are
// limited.
func TestAHistoryOfAlbumsIsResumed(t *testing.T) {
	t.Parallel()
	a := shelf(t, 90)
	before := lastPlay.Add(-50 * time.Hour)
	pages, err := listens(t.Context(), a, library.Span{Before: before.Add(time.Millisecond)})
	require.NoError(t, err)
	require.Equal(t, before, pages[0].Listens[0].PlayedAt)
	require.Len(t, all(pages), 40)
}
