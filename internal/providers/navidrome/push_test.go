package navidrome_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

// far is a server with canned answers that records its calls.
type far struct {
	eager   bool // a person waits
	t       *testing.T
	answers map[string][]string // golden files by method, one per call; the last one repeats
	asked   []string            // "POST search3"
	params  []url.Values
	longest int // of the URLs
}

func newFar(t *testing.T, answers map[string][]string) *far {
	return &far{t: t, answers: answers}
}

func (f *far) respond(r *http.Request) (int, http.Header, string) {
	require.NoError(f.t, r.ParseForm())
	method := strings.TrimSuffix(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], ".view")
	f.asked = append(f.asked, r.Method+" "+method)
	f.params = append(f.params, r.Form)
	f.longest = max(f.longest, len(r.URL.String()))
	answers := f.answers[method]
	require.NotEmpty(f.t, answers, "unexpected %s", method)
	if len(answers) > 1 {
		f.answers[method] = answers[1:]
	}
	if status, found := strings.CutPrefix(answers[0], "status "); found {
		code := 0
		_, err := fmt.Sscan(status, &code)
		require.NoError(f.t, err)
		return code, nil, `{}`
	}
	return 200, nil, providertest.Golden(f.t, answers[0])
}

func (f *far) open(learned ...string) providers.Adapter {
	creds := merge(geoff, library.Credentials{"auth": "token", "form": "yes", "native": "no"})
	for pair := range slices.Chunk(learned, 2) {
		creds[pair[0]] = pair[1]
	}
	call := providertest.Call(providertest.Respond(f.respond))
	call.Eager = f.eager
	return providertest.New(navidrome.Describe()).Open(call, creds)
}

func (f *far) submit(plays ...library.StoredListen) ([]error, error) {
	return providertest.Submit(f.t.Context(), f.open().(providers.LibraryTaker), plays)
}

// of returns the parameters of all calls of a method.
func (f *far) of(method string) (calls []url.Values) {
	for i, asked := range f.asked {
		if strings.HasSuffix(asked, " "+method) {
			calls = append(calls, f.params[i])
		}
	}
	return calls
}

var (
	joga    = lasting(200*time.Second, played("Jóga", "Björk"))
	roygbiv = lasting(200*time.Second, played("Roygbiv", "Boards of Canada"))
	unknown = lasting(200*time.Second, played("Nobody Has This", "Nobody"))
)

const (
	jogaID    = "c2a9d6b0-0e0f-4d56-9a52-5d2f1f0a7f10"
	roygbivID = "tr-1"
)

func TestScrobbleAtNavidrome(t *testing.T) {
	t.Parallel()
	f := newFar(t, map[string][]string{"search3": {"search.json"}, "scrobble": {"done.json"}})
	later := roygbiv
	later.PlayedAt = later.PlayedAt.Add(time.Minute)
	outcomes, err := f.submit(roygbiv, unknown, joga, later)
	require.NoError(t, err)
	require.Len(t, outcomes, 4)
	for i, outcome := range outcomes {
		if i != 1 {
			require.NoError(t, outcome)
		}
	}
	requireVerdict(t, onItem, outcomes[1])
	requireCode(t, "not_in_library", outcomes[1])
	require.Len(t, f.of("search3"), 6, "in three ways if it is not there")
	require.Len(t, f.asked, 7, "all plays are one call")
	require.Equal(t, "Roygbiv Boards of Canada", f.of("search3")[0].Get("query"))
	sent := f.of("scrobble")[0]
	require.Equal(t, []string{roygbivID, jogaID, roygbivID}, sent["id"])
	require.Equal(t, []string{"1795208651123", "1795208651123", "1795208711123"}, sent["time"], "milliseconds")
	require.Equal(t, "true", sent.Get("submission"))
}

func TestScrobbleElsewhere(t *testing.T) {
	t.Parallel()
	busy := resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream}
	tests := []struct {
		name    string
		answers []string // to the calls of scrobble
		want    []resilience.Verdict
		err     *resilience.Verdict
		calls   int
	}{
		{"one call per play", []string{"done_other.json"}, make([]resilience.Verdict, 3), nil, 3},
		{"an unknown song is passed over", []string{"done_other.json", "error_70_song.json", "done_other.json"},
			[]resilience.Verdict{{}, onItem, {}}, nil, 3},
		{"an outage in the middle", []string{"done_other.json", "status 503"},
			[]resilience.Verdict{{}, busy, busy}, &busy, 2},
		{"an outage", []string{"status 503"}, nil, &busy, 1},
		{"a dead password", []string{"error_40.json"}, nil, &deadCredential, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFar(t, map[string][]string{"search3": {"search_other.json"}, "scrobble": tt.answers})
			outcomes, err := f.submit(roygbiv, joga, roygbiv)
			if tt.err == nil {
				require.NoError(t, err)
			} else {
				requireVerdict(t, *tt.err, err)
			}
			var got []resilience.Verdict
			for _, outcome := range outcomes {
				got = append(got, resilience.VerdictOf(outcome))
			}
			require.Equal(t, tt.want, got)
			require.Len(t, f.of("scrobble"), tt.calls)
			for _, call := range f.of("scrobble") {
				require.Len(t, call["id"], 1)
			}
		})
	}
}

// TestNothingIsSentWhenALookupFails fails in the search, which must not count against a play.
func TestNothingIsSentWhenALookupFails(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]resilience.Verdict{
		"status 503": {Class: resilience.Retriable, Category: resilience.Upstream, Scope: resilience.ScopeStream},
		// a proxy whose server is restarting
		"status 404": generic,
		// gonic's answer for an unknown method
		"error_70.json": {Class: resilience.Fatal, Category: resilience.Contract, Scope: resilience.ScopeStream},
		"error_40.json": deadCredential,
	} {
		f := newFar(t, map[string][]string{"search3": {"search.json", answer}})
		outcomes, err := f.submit(roygbiv, joga)
		requireVerdict(t, want, err)
		require.Nil(t, outcomes)
	}
	f := newFar(t, map[string][]string{"ping": {"status 404"}})
	_, err := providertest.Submit(t.Context(), f.open("auth", "").(providers.LibraryTaker),
		[]library.StoredListen{joga})
	requireVerdict(t, generic, err)
}

func TestFind(t *testing.T) {
	t.Parallel()
	f := newFar(t, map[string][]string{"search3": {"search_nothing.json", "search.json"}})
	w := f.open().(providers.PlaylistWriter)
	found, err := w.Find(t.Context(), library.Track{Title: "Jóga (Live)", Artist: "Björk, Guests"})
	require.NoError(t, err)
	require.Equal(t, []string{"Svefn-g-englar", "Roygbiv", "Jóga"}, titles(found), "in the server's order")
	require.Equal(t, library.Track{
		Title: "Svefn-g-englar", Artist: "Sigur Rós", Album: "Ágætis byrjun", Duration: 201 * time.Second,
		ISRC:          "ISL019900002",
		RecordingMBID: "2d6f5bd6-3a4f-4f9e-9d3a-5b9a5f2f8a11", SourceID: "0Zk7y3wU8rVgR5xLq2sTnB",
	}, found[0])
	calls := f.of("search3")
	require.Len(t, calls, 2)
	require.Equal(t, "Jóga Björk", calls[0].Get("query"))
	require.Equal(t, "Jóga", calls[1].Get("query"))
	require.Equal(t, []string{"100", "0", "0"},
		[]string{calls[0].Get("songCount"), calls[0].Get("artistCount"), calls[0].Get("albumCount")})

	f = newFar(t, map[string][]string{"search3": {"search_nothing.json"}})
	found, err = f.open().(providers.PlaylistWriter).Find(t.Context(), unknown.Track)
	require.NoError(t, err)
	require.Empty(t, found)

	f = newFar(t, map[string][]string{"search3": {"done.json"}})
	_, err = f.open().(providers.PlaylistWriter).Find(t.Context(), unknown.Track)
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%v", err)
}

func songIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("c2a9d6b0-0e0f-4d56-9a52-5d2f1f%06d", i)
	}
	return ids
}

func TestCreatePlaylist(t *testing.T) {
	t.Parallel()
	const named, lookedUp = "L211c2ljL1JhaW4.bTN1-", "9c1e3a52-6f3c-4f0e-9d0b-2f2b7f6f0a11"
	f := newFar(t, map[string][]string{"createPlaylist": {"created.json", "done_other.json"},
		"getPlaylists": {"playlists_after.json"}})
	w := f.open().(providers.PlaylistWriter)
	ids := songIDs(450)
	for _, want := range []string{named, lookedUp} {
		id, err := w.CreatePlaylist(t.Context(), "Rain", ids)
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
	require.Equal(t, []string{"POST createPlaylist", "POST createPlaylist", "POST getPlaylists"}, f.asked)
	require.Equal(t, ids, f.of("createPlaylist")[0]["songId"])
	require.Less(t, f.longest, 200, "nothing but the method in the URL")

	f = newFar(t, map[string][]string{"createPlaylist": {"created.json"},
		"updatePlaylist": {"done.json", "done.json", "done.json", "status 503"}})
	w = f.open("form", "no").(providers.PlaylistWriter)
	ids = ids[:250]
	id, err := w.CreatePlaylist(t.Context(), "Rain", ids)
	require.NoError(t, err)
	require.Equal(t, named, id)
	require.Equal(t, []string{"GET createPlaylist", "GET updatePlaylist", "GET updatePlaylist"}, f.asked)
	require.Less(t, f.longest, 8000)
	all := slices.Clone(f.of("createPlaylist")[0]["songId"])
	for _, call := range f.of("updatePlaylist") {
		require.Equal(t, named, call.Get("playlistId"))
		all = append(all, call["songIdToAdd"]...)
	}
	require.Equal(t, ids, all)

	id, err = w.CreatePlaylist(t.Context(), "Rain", ids)
	require.Equal(t, resilience.Upstream, resilience.VerdictOf(err).Category)
	require.Equal(t, named, id, "there it is, though not whole")
}

func TestCreatePlaylistRefused(t *testing.T) {
	t.Parallel()
	aboutTheCall := resilience.Verdict{Class: resilience.Fatal, Category: resilience.Contract,
		Scope: resilience.ScopeStream}
	tests := []struct {
		answers map[string][]string
		want    resilience.Verdict
	}{
		{map[string][]string{"createPlaylist": {"error_70_song.json"}}, generic},
		{map[string][]string{"createPlaylist": {"error_10.json"}}, generic},
		{map[string][]string{"createPlaylist": {"error_0.json"}}, generic},
		{map[string][]string{"createPlaylist": {"status 404"}}, generic},
		{map[string][]string{"createPlaylist": {"status 400"}}, aboutTheCall},
		{map[string][]string{"createPlaylist": {"error_40.json"}}, deadCredential},
		{map[string][]string{"createPlaylist": {"done.json"}, "getPlaylists": {"status 404"}}, generic},
		{map[string][]string{"createPlaylist": {"done.json"}, "getPlaylists": {"search_nothing.json"}},
			resilience.Verdict{Class: resilience.Retriable, Category: resilience.Contract,
				Scope: resilience.ScopeStream, FatalAfter: 3}},
		{map[string][]string{"createPlaylist": {"done.json"}, "getPlaylists": {"playlists.json"}}, // none of that name
			resilience.Verdict{Class: resilience.Retriable, Category: resilience.Contract,
				Scope: resilience.ScopeStream, FatalAfter: 3}},
	}
	for _, tt := range tests {
		f := newFar(t, tt.answers)
		_, err := f.open().(providers.PlaylistWriter).CreatePlaylist(t.Context(), "New", []string{jogaID})
		requireVerdict(t, tt.want, err)
	}
}

func TestReplacePlaylist(t *testing.T) {
	t.Parallel()
	const id = "L211c2ljL1JhaW4.bTN1-"
	f := newFar(t, map[string][]string{"createPlaylist": {"created.json"}, "updatePlaylist": {"done.json"},
		"getPlaylist": {"playlist.json"}})
	w := f.open().(providers.PlaylistWriter)
	require.NoError(t, w.ReplacePlaylist(t.Context(), id, "Rain", []string{jogaID, roygbivID}))
	require.Equal(t, []string{"POST createPlaylist"}, f.asked, "it already has that name")
	require.Equal(t, id, f.params[0].Get("playlistId"))
	require.Equal(t, []string{jogaID, roygbivID}, f.params[0]["songId"])
	require.NoError(t, w.ReplacePlaylist(t.Context(), id, "Sun", []string{jogaID}))
	require.Equal(t, []string{"POST createPlaylist", "POST updatePlaylist"}, f.asked[1:])
	require.Equal(t, "Sun", f.params[2].Get("name"))
	require.Empty(t, f.params[2]["songIndexToRemove"])

	require.NoError(t, w.ReplacePlaylist(t.Context(), id, "Rain", nil))
	require.Equal(t, []string{"POST getPlaylist", "POST updatePlaylist", "POST updatePlaylist"}, f.asked[3:],
		"never a createPlaylist without songs")
	require.Equal(t, []string{"2", "1", "0"}, f.params[4]["songIndexToRemove"])
}

func TestReplacePlaylistRefused(t *testing.T) {
	t.Parallel()
	aboutTheCall := resilience.Verdict{Class: resilience.Fatal, Category: resilience.Contract,
		Scope: resilience.ScopeStream}
	tests := []struct {
		change, look string // what createPlaylist and getPlaylist answer
		want         resilience.Verdict
	}{
		{"error_70.json", "error_70.json", onItem},
		{"error_10.json", "error_10.json", onItem},
		{"error_0.json", "error_70.json", onItem},
		{"error_70_song.json", "playlist.json", generic},
		{"error_10.json", "playlist.json", generic},
		{"error_0.json", "playlist.json", generic},
		{"error_70.json", "status 503", resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
			Scope: resilience.ScopeStream}},
		{"error_70.json", "status 404", generic},
		{"error_70.json", "status 400", aboutTheCall},
		{"status 404", "", generic},
		{"status 400", "", aboutTheCall},
		{"error_50.json", "", resilience.Verdict{Class: resilience.Fatal, Category: resilience.Permission,
			Scope: resilience.ScopeStream}},
	}
	for _, tt := range tests {
		f := newFar(t, map[string][]string{"createPlaylist": {tt.change}, "getPlaylist": {tt.look}})
		err := f.open().(providers.PlaylistWriter).ReplacePlaylist(t.Context(), "x", "Rain", []string{jogaID})
		requireVerdict(t, tt.want, err)
		if tt.want == onItem {
			require.Equal(t, "This playlist is gone from your server.", adviceOf(t, err))
		}
	}
}
