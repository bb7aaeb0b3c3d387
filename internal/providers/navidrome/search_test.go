package navidrome_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
)

// endless is a server with so many songs for every query that no answer ends; it ignores the offset if stuck.
type endless struct {
	t     *testing.T
	stuck bool
	asked []string
}

func (e *endless) respond(r *http.Request) (int, http.Header, string) {
	require.NoError(e.t, r.ParseForm())
	e.asked = append(e.asked, r.Form.Get("query")+"@"+r.Form.Get("songOffset"))
	from, n := 0, 0
	_, _ = fmt.Sscan(r.Form.Get("songOffset"), &from)
	_, err := fmt.Sscan(r.Form.Get("songCount"), &n)
	require.NoError(e.t, err)
	if e.stuck {
		from = 0
	}
	var songs []string
	for i := from; i < from+n; i++ {
		songs = append(songs, fmt.Sprintf(`{"id":"%d","title":"One %d","artist":"Somebody"}`, i, i))
	}
	return 200, nil, `{"subsonic-response":{"status":"ok","searchResult3":{"song":[` + strings.Join(songs, ",") + `]}}}`
}

func (e *endless) find(t library.Track) ([]library.Track, error) {
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Respond(e.respond)),
		merge(geoff, library.Credentials{"auth": "token", "form": "yes", "native": "no"}))
	return a.(providers.PlaylistWriter).Find(e.t.Context(), t)
}

// One song costs at most eight calls, whatever the server has.
func TestOneSongCostsFewCalls(t *testing.T) {
	t.Parallel()
	e := &endless{t: t}
	found, err := e.find(library.Track{Title: "One", Artist: "Metallica", Album: "Justice"})
	require.NoError(t, err)
	require.Empty(t, found, "none of 3,000 is like it")
	require.Equal(t, []string{"One Metallica@", "One@", "justice@", "One Metallica@100", "One Metallica@600",
		"One Metallica@1100", "One Metallica@1600", "One Metallica@2100"}, e.asked)

	e = &endless{t: t, stuck: true}
	_, err = e.find(library.Track{Title: "One", Artist: "Metallica"})
	require.NoError(t, err)
	require.Equal(t, []string{"One Metallica@", "One@", "One Metallica@100", "One Metallica@600"}, e.asked,
		"the pages do not go on")

	e = &endless{t: t}
	found, err = e.find(library.Track{Title: "One 7", Artist: "Somebody"})
	require.NoError(t, err)
	require.Len(t, e.asked, 8, "without a length, the rest of the answers may hold another one")
	require.LessOrEqual(t, len(found), 30)
	require.Equal(t, "7", found[0].SourceID)
}

// An album that is gone by the time it is read is passed over.
func TestAnAlbumThatIsGoneIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"error_70.json", "status 501"} {
		asked := 0
		a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Respond(
			func(r *http.Request) (int, http.Header, string) {
				if strings.HasSuffix(r.URL.Path, "getAlbum.view") {
					asked++
					if gone == "status 501" {
						return http.StatusNotImplemented, nil, "This endpoint is not implemented"
					}
					return 200, nil, providertest.Golden(t, gone)
				}
				require.NoError(t, r.ParseForm())
				albums := ""
				if r.Form.Get("albumCount") != "0" {
					albums = `{"id":"al-1","name":"Homogenic"},{"id":"al-2","name":"Homogenic (Live)"}`
				}
				return 200, nil, `{"subsonic-response":{"status":"ok","searchResult3":{"album":[` + albums + `]}}}`
			})), merge(geoff, library.Credentials{"auth": "token", "form": "yes", "native": "no"}))
		found, err := a.(providers.PlaylistWriter).Find(t.Context(),
			library.Track{Title: "Joga", Artist: "Bjork", Album: "Homogenic (Remastered)"})
		require.NoError(t, err)
		require.Empty(t, found)
		require.Equal(t, 1, asked, "only the album of that name")
	}
}
