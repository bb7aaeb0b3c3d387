package navidrome_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
)

// rack is a server with so many songs, which may ignore what it is asked.
type rack struct {
	songs   int
	deaf    bool // gives the first page, whatever the offset
	refuses bool // wants something to look for
	asked   int
}

func (s *rack) respond(r *http.Request) (int, http.Header, string) {
	const head = `{"subsonic-response":{"status":"ok","version":"1.16.1","searchResult3":{"song":[`
	s.asked++
	if s.refuses {
		return 200, nil, `{"subsonic-response":{"status":"failed","version":"1.16.1",` +
			`"error":{"code":10,"message":"Missing required parameter"}}}`
	}
	offset, _ := strconv.Atoi(r.FormValue("songOffset"))
	count, _ := strconv.Atoi(r.FormValue("songCount"))
	if s.deaf {
		offset = 0
	}
	var all []string
	for i := offset; i < min(offset+count, s.songs); i++ {
		all = append(all, fmt.Sprintf(`{"id":"%d","title":"Song %d","artist":"Artist"}`, i, i))
	}
	return 200, nil, head + strings.Join(all, ",") + "]}}}"
}

func (s *rack) read(t *testing.T) (songs []library.Track, err error) {
	creds := merge(geoff, library.Credentials{"auth": "token", "form": "yes", "native": "no"})
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Respond(s.respond)), creds)
	for page, err := range a.(providers.SongSource).Songs(t.Context()) {
		if err != nil {
			return songs, err
		}
		songs = append(songs, page...)
	}
	return songs, nil
}

func TestTheSongsOfALibraryAreListed(t *testing.T) {
	t.Parallel()
	for songs, calls := range map[int]int{0: 1, 499: 2, 500: 2, 1203: 4} {
		s := &rack{songs: songs}
		all, err := s.read(t)
		require.NoError(t, err)
		require.Len(t, all, songs)
		require.Equal(t, calls, s.asked)
		if songs > 0 {
			require.Equal(t, fmt.Sprint("Song ", songs-1), all[songs-1].Title)
		}
	}
}

// A small library is read whole although its server ignores what page it is asked for.
func TestADeafServerWithFewSongs(t *testing.T) {
	t.Parallel()
	all, err := (&rack{songs: 40, deaf: true}).read(t)
	require.NoError(t, err)
	require.Len(t, all, 40)
}

func TestAServerThatDoesNotListItsSongsSaysSo(t *testing.T) {
	t.Parallel()
	for _, s := range []*rack{{songs: 900, deaf: true}, {refuses: true}} {
		_, err := s.read(t)
		require.ErrorIs(t, err, providers.ErrNotOffered)
		require.LessOrEqual(t, s.asked, 2)
	}
}
