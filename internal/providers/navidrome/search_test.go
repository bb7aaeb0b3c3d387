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
	a := providertest.New(navidrome.Describe()).Open(providertest.Client(providertest.Respond(e.respond)),
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
