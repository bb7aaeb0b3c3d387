package sync

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/demo"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/storetest"
)

// lists are five playlists of Ann's at a ListenBrainz.
type lists struct{ *demo.World }

func newLists(t *testing.T, inProcess bool, cut ...string) lists {
	t.Helper()
	w, err := demo.Start(demo.Options{Empty: true, InProcess: inProcess})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.SetPlaylist(demo.ListenBrainz, "ann", demo.List{ID: listID(name), Name: "List " + name, Privacy: "public",
			Songs: []demo.Song{{Artist: "A", Title: "Song of " + name}}})
	}
	for _, name := range cut {
		w.Fail(demo.ListenBrainz, "/1/playlist/"+listID(name), cutOff)
	}
	return lists{w}
}

func listID(name string) string { return strings.Repeat(name, 8) + "-0000-4000-8000-000000000000" }

// cutOff is the fault of a connection that is cut in the middle of the answer.
func cutOff(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: 100000,
		Header: http.Header{"Content-Type": {"application/json"}, "Content-Length": {"100000"}}, Request: req,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(`{"playlist":{"track":[{"tit`),
			iotest.ErrReader(io.ErrUnexpectedEOF)))}, nil
}

// asked counts the calls for one playlist.
func (l lists) asked() (n int) {
	for _, c := range l.Calls(demo.ListenBrainz) {
		if strings.HasPrefix(c.Path, "/1/playlist/") {
			n++
		}
	}
	return n
}

// reading is a reader of the playlists, over a real socket and with a real store.
func reading(t *testing.T, cut ...string) (lists, *reader, library.Connection, providers.PlaylistSource) {
	t.Helper()
	l, base := newLists(t, false, cut...), hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	rd, c, source := readerOf(t, &transport.Transport{Base: base, Once: true}, l.ListenBrainz.URL, false)
	return l, rd, c, source
}

// readerOf returns a reader of a ListenBrainz behind a transport, with a real store. With eager a person waits.
func readerOf(
	t *testing.T, through *transport.Transport, url string, eager bool,
) (*reader, library.Connection, providers.PlaylistSource) {
	t.Helper()
	db := storetest.Open(t, t.TempDir())
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	u, err := db.AddUser(t.Context(), accounts.User{Name: "Ann", Role: accounts.Admin, CreatedAt: time.Now()}, false)
	require.NoError(t, err)
	c, err := db.SaveConnection(t.Context(), library.Connection{User: u.ID, ID: "listenbrainz", CreatedAt: time.Now()})
	require.NoError(t, err)
	p := providertest.New(registry.Describe("listenbrainz"), "api_url", url)
	call := resilience.Call{Client: transport.NewClient(through), Eager: eager}
	a := p.Open(call, library.Credentials{"user": "ann"})
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

// Promise: 2: runs that try a playlist with a bad answer right away, before it waits; the problem may have been brief.
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
	require.Equal(t, []string{"playlist", listID("c"), "List c", "network", "The response broke off every time."},
		[]string{s.Kind, s.SourceID, s.Name, s.Category, s.Reason.String()})
	require.Contains(t, s.Answer, "unexpected EOF")

	for range quickLooks {
		_, err = rd.readPlaylists(t.Context(), c, source)
		require.NoError(t, err)
	}
	asked := l.asked()
	require.EqualValues(t, 5+quickLooks, asked, "only the one that was cut is asked for again")
	for range 5 {
		_, err = rd.readPlaylists(t.Context(), c, source)
		require.NoError(t, err)
	}
	require.Equal(t, asked, l.asked(), "now it has to wait for a day")
}

func TestTwoCutPlaylistsKeepNoOther(t *testing.T) {
	t.Parallel()
	_, rd, c, source := reading(t, "a", "b")
	_, err := rd.readPlaylists(t.Context(), c, source)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"List c", "List d", "List e"}, names(t, rd, c))
}

// Promise: 2: failures in a row before the run asks for the list once more; without an answer, the run ends; 200
// playlists don't cost a timeout each.
func TestAServiceThatIsGoneIsNotAskedForAll(t *testing.T) {
	t.Parallel()
	l, rd, c, source := reading(t)
	_, err := rd.readPlaylists(t.Context(), c, after(source, l))
	require.Equal(t, resilience.Network, resilience.VerdictOf(err).Category)
	require.EqualValues(t, 2, l.asked(), "of five")
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
	l lists
}

func after(source providers.PlaylistSource, l lists) dying { return dying{source, l} }

func (d dying) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		for page, err := range d.PlaylistSource.Playlists(ctx) {
			if !yield(page, err) {
				return
			}
		}
		if err := d.l.Switch(demo.ListenBrainz, demo.Cut); err != nil {
			panic(err) // there is one, and it has that mode
		}
	}
}

// TestACutPlaylistUnderItsBreaker has repeats inside each call, and the breaker of the endpoint that all playlists
// share. Within minutes every other one has been read.
func TestACutPlaylistUnderItsBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLists(t, true, "b")
		rd, c, source := readerOf(t, &transport.Transport{Base: l,
			Breakers: transport.NewBreakers(transport.BreakerOptions{})}, l.ListenBrainz.URL,
			true) // a person has pressed "Sync now": all repeats are made
		for range 3 {
			_, _ = rd.readPlaylists(t.Context(), c, source)
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
//
// Promise: 10: such failures that end a run, however many playlists are left; each may have taken a minute.
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

func (h *halfBroken) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		h.asked++
		yield(nil, &resilience.ContractError{Endpoint: "tracks", What: "nonsense"})
	}
}
