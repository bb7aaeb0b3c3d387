package sync

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/storetest"
)

// loopback is a ListenBrainz with five playlists on a real socket.
type loopback struct {
	*httptest.Server
	cut   map[string]bool // playlists whose connection is cut in the middle of the answer
	gone  atomic.Bool     // every connection is cut
	asked atomic.Int32    // playlists that were asked for
}

func (l *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, one := strings.CutPrefix(r.URL.Path, "/1/playlist/")
	if one {
		l.asked.Add(1)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case l.gone.Load() || l.cut[id]:
		w.Header().Set("Content-Length", "100000")
		fmt.Fprint(w, `{"playlist":{"track":[{"tit`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case one:
		fmt.Fprintf(w, `{"playlist":{"track":[{"title":"Song of %s","creator":"A","identifier":"x/1"}]}}`, id)
	case strings.HasSuffix(r.URL.Path, "/createdfor"):
		fmt.Fprint(w, `{"playlist_count":0,"playlists":[]}`)
	default:
		var lists []string
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			lists = append(lists, fmt.Sprintf(`{"playlist":{"identifier":"x/%s","title":"List %s","extension":{
				"https://musicbrainz.org/doc/jspf#playlist":{"last_modified_at":"s"}}}}`, id, id))
		}
		fmt.Fprintf(w, `{"playlist_count":5,"playlists":[%s]}`, strings.Join(lists, ","))
	}
}

// reading is a reader of the loopback's playlists with a real store.
func reading(t *testing.T, cut ...string) (*loopback, *reader, library.Connection, providers.PlaylistSource) {
	t.Helper()
	l := &loopback{cut: map[string]bool{}}
	for _, id := range cut {
		l.cut[id] = true
	}
	l.Server = httptest.NewServer(l)
	base := resilience.NewBase(nil)
	t.Cleanup(func() { base.CloseIdleConnections(); l.Close() })
	rd, c, source := readerOf(t, &resilience.Transport{Base: base, Once: true}, l.URL)
	return l, rd, c, source
}

// readerOf returns a reader of a ListenBrainz behind a transport, with a real store.
func readerOf(
	t *testing.T, through *resilience.Transport, url string,
) (*reader, library.Connection, providers.PlaylistSource) {
	t.Helper()
	db := storetest.Open(t, t.TempDir())
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	u, err := db.AddUser(t.Context(), accounts.User{Name: "Ann", Role: accounts.Admin, CreatedAt: time.Now()}, false)
	require.NoError(t, err)
	c, err := db.SaveConnection(t.Context(), library.Connection{User: u.ID, ID: "listenbrainz", CreatedAt: time.Now()})
	require.NoError(t, err)
	p := providertest.New(registry.Describe("listenbrainz"), "api_url", url)
	a := p.Open(resilience.NewClient(through), library.Credentials{"user": "ann"})
	return &reader{store: db, bus: &events.Bus{}}, c, a.(providers.PlaylistSource)
}

func names(t *testing.T, rd *reader, c library.Connection) (all []string) {
	t.Helper()
	lists, err := rd.store.ConnectionPlaylists(t.Context(), c.User, c.ID)
	require.NoError(t, err)
	for _, l := range lists {
		all = append(all, l.Name)
	}
	return all
}

func TestOneOfFivePlaylistsIsCut(t *testing.T) {
	t.Parallel()
	l, rd, c, source := reading(t, "c")
	n, err := rd.readPlaylists(t.Context(), c, source)
	require.NoError(t, err, "the service is there")
	require.Equal(t, 4, n)
	require.ElementsMatch(t, []string{"List a", "List b", "List d", "List e"}, names(t, rd, c))
	skipped, err := rd.store.Skipped(t.Context(), c.User, c.ID)
	require.NoError(t, err)
	require.Len(t, skipped, 1)
	s := skipped[0]
	require.Equal(t, []string{"playlist", "c", "List c", "network", "The response broke off every time."},
		[]string{s.Kind, s.SourceID, s.Name, s.Category, s.Reason.String()})
	require.Contains(t, s.Answer, "unexpected EOF")

	for range quickLooks {
		_, err = rd.readPlaylists(t.Context(), c, source)
		require.NoError(t, err)
	}
	asked := l.asked.Load()
	require.EqualValues(t, 5+quickLooks, asked, "only the one that was cut is asked for again")
	for range 5 {
		_, err = rd.readPlaylists(t.Context(), c, source)
		require.NoError(t, err)
	}
	require.Equal(t, asked, l.asked.Load(), "now it has to wait for a day")
}

func TestTwoCutPlaylistsKeepNoOther(t *testing.T) {
	t.Parallel()
	_, rd, c, source := reading(t, "a", "b")
	_, err := rd.readPlaylists(t.Context(), c, source)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"List c", "List d", "List e"}, names(t, rd, c))
}

func TestAServiceThatIsGoneIsNotAskedForAll(t *testing.T) {
	t.Parallel()
	l, rd, c, source := reading(t)
	_, err := rd.readPlaylists(t.Context(), c, after(source, l))
	require.Equal(t, resilience.Network, resilience.VerdictOf(err).Category)
	require.EqualValues(t, 2, l.asked.Load(), "of five")
	skipped, err := rd.store.Skipped(t.Context(), c.User, c.ID)
	require.NoError(t, err)
	require.Empty(t, skipped, "no playlist is to blame")
}

func TestNothingReadableIsAFailure(t *testing.T) {
	t.Parallel()
	_, rd, c, source := reading(t, "a", "b", "c", "d", "e")
	_, err := rd.readPlaylists(t.Context(), c, source)
	require.Equal(t, resilience.Network, resilience.VerdictOf(err).Category)
}

// dying is a source whose service goes away after it has listed the playlists.
type dying struct {
	providers.PlaylistSource
	l *loopback
}

func after(source providers.PlaylistSource, l *loopback) dying { return dying{source, l} }

func (d dying) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		for page, err := range d.PlaylistSource.Playlists(ctx) {
			if !yield(page, err) {
				return
			}
		}
		d.l.gone.Store(true)
	}
}

// served answers requests without a socket. A connection that is cut ends the answer in its middle.
type served struct{ *loopback }

func (s served) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			resp = w.Result()
			resp.Body = io.NopCloser(io.MultiReader(w.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
		}
	}()
	s.ServeHTTP(w, req)
	return w.Result(), nil
}

// TestACutPlaylistUnderItsBreaker has repeats inside each call, and the breaker of the endpoint that all playlists
// share. Within minutes every other one has been read.
func TestACutPlaylistUnderItsBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &loopback{cut: map[string]bool{"b": true}}
		rd, c, source := readerOf(t, &resilience.Transport{Base: served{l},
			Breakers: resilience.NewBreakers(resilience.BreakerOptions{})}, "https://lb.example.org")
		ctx := resilience.WithProbe(t.Context()) // a person has pressed "Sync now": all repeats are made
		for range 3 {
			_, _ = rd.readPlaylists(ctx, c, source)
			time.Sleep(5 * time.Minute)
		}
		require.ElementsMatch(t, []string{"List a", "List c", "List d", "List e"}, names(t, rd, c))
		_, err := rd.readPlaylists(t.Context(), c, source)
		require.NoError(t, err, "the stream is well")
		skipped, err := rd.store.Skipped(t.Context(), c.User, c.ID)
		require.NoError(t, err)
		require.Len(t, skipped, 1)
	})
}

// TestTenBadPlaylistsEndARun: each may have taken a minute. The next run goes on behind them.
func TestTenBadPlaylistsEndARun(t *testing.T) {
	t.Parallel()
	store := &noted{}
	rd := &reader{store: store, bus: &events.Bus{}}
	source := &halfBroken{bad: 30}
	_, err := rd.readPlaylists(t.Context(), library.Connection{}, source)
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category)
	require.Equal(t, failuresToEnd, source.asked)
	require.Len(t, store.skipped, failuresToEnd)
}

// halfBroken is a service whose first playlists break the contract.
type halfBroken struct{ bad, asked int }

func (h *halfBroken) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		page := make([]library.Playlist, h.bad+5)
		for i := range page {
			page[i] = library.Playlist{SourceID: fmt.Sprint(i), Name: "List"}
		}
		yield(page, nil)
	}
}

func (h *halfBroken) Tracks(context.Context, library.Playlist) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		h.asked++
		yield(nil, &resilience.ContractError{Endpoint: "tracks", What: "nonsense"})
	}
}
