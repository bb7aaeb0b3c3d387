package listenbrainz

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/demo/demotest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	token  = "5f9c1d2e-0000-4000-8000-00000000beef"
	pasted = " 5f9c1d2e-0000-4000-\n8000-00000000beef\n" // from an e-mail with broken lines
)

var geoff = library.Credentials{tokenField: pasted, userField: "geoff"}

// open returns an adapter of user geoff whose upstream is far.
func open(far providertest.Respond) *adapter {
	in := providers.Installation{Domains: map[string]string{"spotify": "spotify.com"}}
	return providertest.NewIn(in, Describe()).Open(providertest.Call(far), geoff).(*adapter)
}

// collect reads a sequence to its end.
func collect[V any](seq iter.Seq2[V, error]) (values []V, err error) {
	for v, err := range seq {
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
	return values, nil
}

func healthy(t *testing.T) providertest.Respond {
	always := func(name string) providertest.Respond { return providertest.Always(200, providertest.Golden(t, name)) }
	return providertest.Routes(map[string]providertest.Respond{
		"GET /1/validate-token":                  always("valid.json"),
		"GET /1/user/geoff/listens":              always("listens.json"),
		"GET /1/user/geoff/listen-count":         always("count.json"),
		"GET /1/user/geoff/playlists":            always("playlists.json"),
		"GET /1/user/geoff/playlists/createdfor": always("createdfor.json"),
		"GET /1/playlist/{mbid}":                 always("playlist.json"),
		"POST /1/submit-listens":                 always("submitted.json"),
		"POST /1/delete-listen":                  always("deleted.json"),
		"POST /1/feedback/recording-feedback":    always("deleted.json"),
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const list = "96485e27-967a-492c-9d04-c5a819baa2f3"
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(Describe()),
		Playlist: library.Playlist{SourceID: list},
		Simulated: func(t *testing.T) (http.RoundTripper, library.Credentials) {
			w, far := demotest.Start(t, demo.ListenBrainz, list, nil)
			return far, library.Credentials{tokenField: w.ListenBrainz.Token(demo.Alice), userField: demo.Alice}
		},
		Listens: providertest.Capability{
			Fine:   []int{204},
			Faults: func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, "/listen-count") },
		},
		Playlists: providertest.Capability{Fine: []int{204}},
		Tracks:    providertest.Capability{Fine: []int{204}},
		Submit: providertest.Capability{
			Statuses: map[int]resilience.Meaning{404: ourMistake, 409: onItem(words.Text{}), 410: ourMistake,
				422: ourMistake}},
		Loves: providertest.Capability{},
		Loved: library.Love{Title: "Roygbiv", Artist: "Boards of Canada", Score: 1,
			RecordingMBID: "8a16b6a1-32ff-4d52-a07b-a6b0f1a0ba55"},
		Love: providertest.Capability{Healthy: healthy(t), Statuses: map[int]resilience.Meaning{
			400: onItem(words.Text{}), 404: ourMistake, 410: ourMistake, 422: ourMistake}},
		Deleted: roygbivID,
		Delete: providertest.Capability{Healthy: healthy(t), // of a listen that it has
			Statuses: map[int]resilience.Meaning{404: ourMistake, 410: ourMistake, 422: ourMistake}},
	})
}

func TestProvider(t *testing.T) {
	t.Parallel()
	require.Equal(t, "api.listenbrainz.org", providertest.New(Describe()).App(geoff))
	require.Equal(t, "music.example.org:8080",
		providertest.New(Describe(), "api_url", "http://music.example.org:8080/lb/").App(geoff))
}

func TestProve(t *testing.T) {
	t.Parallel()
	var authorization, query string
	far := healthy(t)
	call := providertest.Call(providertest.Respond(func(r *http.Request) (int, http.Header, string) {
		authorization, query = r.Header.Get("Authorization"), r.URL.RawQuery
		return far(r)
	}))
	a := providertest.New(Describe()).Open(call, library.Credentials{tokenField: pasted})
	account, err := a.Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{
		ID: "geoff", Name: "geoff", AnyCase: true, Learned: library.Credentials{"user": "geoff"},
	}, account)
	require.Equal(t, "Token "+token, authorization)
	require.Empty(t, query, "the token is not in the address")
	pages, err := collect(a.(providers.ListenSource).Listens(t.Context(), library.Span{}))
	require.NoError(t, err, "the name that Prove learned is used")
	require.Len(t, pages, 1)
}

// header returns a header from names, each followed by its value.
func header(names ...string) http.Header {
	h := http.Header{}
	for pair := range slices.Chunk(names, 2) {
		h.Set(pair[0], pair[1])
	}
	return h
}

func TestTable(t *testing.T) {
	t.Parallel()
	const fatal, retriable = resilience.Fatal, resilience.Retriable
	auth := resilience.Verdict{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection}
	onItem := resilience.Verdict{Class: fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	broken := resilience.Verdict{Class: fatal, Category: resilience.Contract, Scope: resilience.ScopeStream}
	upstream := resilience.Verdict{Class: retriable, Category: resilience.Upstream, Scope: resilience.ScopeStream}
	limited := resilience.Verdict{Class: retriable, Category: resilience.RateLimit, Scope: resilience.ScopeApp}
	paced := resilience.Verdict{Class: retriable, Category: resilience.RateLimit, Scope: resilience.ScopeConnection}
	unreadable := paced
	unreadable.BadWait = true
	tests := []struct {
		call   string
		status int
		golden string
		header http.Header
		want   resilience.Verdict
		wait   time.Duration // until want.NotBefore
		code   string
		advice string // a part of it
	}{
		{call: "prove", status: 200, golden: "invalid.json", want: auth, code: "invalid_token", advice: "user token"},
		{call: "prove", status: 401, golden: "401.json", want: auth, advice: "user token"},
		{call: "listens", status: 401, golden: "401.json", want: auth, advice: "user token"},
		{call: "listens", status: 404, golden: "404-user.json", want: auth, code: "not_found", advice: "renamed"},
		{call: "playlists", status: 404, golden: "404-user.json", want: auth, code: "not_found", advice: "renamed"},
		{call: "playlists", status: 404, golden: "404-route.json", want: onItem},
		{call: "tracks", status: 401, golden: "401.json", want: auth, advice: "user token"},
		{call: "tracks", status: 404, golden: "404-playlist.json", want: onItem, code: "not_found", advice: "gone"},
		{call: "add", status: 400, golden: "400-add.json", want: onItem},
		{call: "add", status: 401, golden: "401.json", want: auth, advice: "user token"},
		{call: "add", status: 403, golden: "403-add.json", want: onItem, advice: "change this playlist"},
		{call: "add", status: 404, golden: "404-playlist.json", want: onItem, code: "not_found", advice: "gone"},
		{call: "listens", status: 400, golden: "400.json", want: onItem},
		{call: "submit", status: 400, golden: "400-submit.json", want: onItem, advice: "this listen"},
		{call: "submit", status: 401, golden: "401.json", want: auth, advice: "user token"},
		{call: "submit", status: 404, golden: "404-submit.json", want: broken},
		{call: "submit", status: 409, golden: "409-submit.json", want: onItem, advice: "same second"}, // Maloja's
		{call: "submit", status: 410, golden: "410-submit.json", want: broken},
		{call: "submit", status: 422, golden: "422-submit.json", want: broken},
		{call: "submit", status: 429, golden: "429.json", header: header("X-Ratelimit-Reset-In", "8"), want: limited,
			wait: 8 * time.Second},
		{call: "submit", status: 503, golden: "503.json", want: upstream},
		{call: "delete", status: 400, golden: "400-delete.json", want: onItem, advice: "can't find this listen"},
		{call: "delete", status: 401, golden: "401.json", want: auth, advice: "user token"},
		{call: "delete", status: 404, golden: "404-submit.json", want: broken},
		{call: "delete", status: 410, golden: "410-submit.json", want: broken},
		{call: "delete", status: 422, golden: "422-submit.json", want: broken},
		{call: "delete", status: 429, golden: "429.json", header: header("X-Ratelimit-Reset-In", "8"), want: limited,
			wait: 8 * time.Second},
		{call: "delete", status: 500, golden: "500-delete.json", want: upstream},
		{call: "delete", status: 503, golden: "503-delete.json", want: upstream},
		{call: "listens", status: 429, golden: "429.json", want: paced},
		{call: "listens", status: 429, golden: "429.json", header: header("X-Ratelimit-Reset-In", "8"), want: limited,
			wait: 8 * time.Second},
		{call: "tracks", status: 429, golden: "429.json",
			header: header("X-Ratelimit-Reset-In", "8", "Retry-After", "20"), want: limited, wait: 20 * time.Second},
		{call: "prove", status: 429, golden: "429.json",
			header: header("X-Ratelimit-Reset-In", "30", "Retry-After", "soon"), want: limited, wait: 30 * time.Second},
		{call: "prove", status: 429, golden: "429.json",
			header: header("X-Ratelimit-Reset-In", "soon", "Retry-After", "20"), want: limited, wait: 20 * time.Second},
		{call: "listens", status: 429, golden: "429.json", header: header("X-Ratelimit-Reset-In", "soon"),
			want: unreadable},
		{call: "listens", status: 429, golden: "429.json", header: header("X-Ratelimit-Reset-In", "0"),
			want: unreadable},
		{call: "listens", status: 500, golden: "500.json", want: upstream},
		{call: "playlists", status: 503, golden: "503.json", want: upstream},
	}
	met := []providers.Row{{Status: http.StatusNotFound, Code: noRoute}} // see TestAnotherServerMayLackReading
	for _, tt := range tests {
		met = append(met, providers.Row{Status: tt.status, Code: tt.code})
	}
	providertest.Rows(t, tables(), met)
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d %v", tt.call, tt.status, tt.header), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				body := providertest.Golden(t, tt.golden)
				a := open(func(*http.Request) (int, http.Header, string) { return tt.status, tt.header, body })
				err := call(t, a, tt.call)
				if tt.wait > 0 {
					tt.want.NotBefore = time.Now().Add(tt.wait)
				}
				require.Equal(t, tt.want, resilience.VerdictOf(err), "%v", err)
				var refusal *resilience.AnswerError
				require.ErrorAs(t, err, &refusal)
				require.NotEmpty(t, refusal.Message)
				require.Equal(t, tt.code, refusal.Code)
				if tt.advice != "" {
					require.NotNil(t, refusal.Meaning)
					require.Contains(t, refusal.Meaning.Advice.String(), tt.advice)
				}
			})
		})
	}
}

// call reads one capability to its end and returns how it ended.
func call(t *testing.T, a *adapter, name string) (err error) {
	t.Helper()
	switch name {
	case "prove":
		_, err = a.Prove(t.Context())
	case "listens":
		_, err = collect(a.Listens(t.Context(), library.Span{}))
	case "playlists":
		_, err = collect(a.Playlists(t.Context()))
	case "tracks":
		_, err = collect(a.Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil))
	case "add":
		err = a.add(t.Context(), "x", []string{roygbivID})
	case "submit":
		outcomes, e := a.Submit(t.Context(), []library.StoredListen{{Listen: roygbiv}})
		require.Nil(t, outcomes, "no listen counts as handled")
		err = e
	case "delete":
		err = a.DeleteListen(t.Context(), roygbivID)
	default:
		t.Fatalf("no such call: %s", name)
	}
	return err
}

func TestBrokenShapes(t *testing.T) {
	t.Parallel()
	tests := []struct{ call, name, body string }{
		{"prove", "valid for nobody", `{"valid":true}`},
		{"listens", "no list", `{"payload":{"count":0}}`},
		{"listens", "no names", `{"payload":{"listens":[{"listened_at":1795197851},{"time":5}]}}`},
		{"playlists", "no identifier", `{"playlist_count":1,"playlists":[{"playlist":{"title":"Rain"}}]}`},
		{"playlists", "a number below 0", `{"playlist_count":-1,"playlists":[{"playlist":{"identifier":"a"}}]}`},
		{"playlists", "ends early", `{"playlist_count":120,"playlists":[]}`},
		{"submit", "no status", `{}`},
		{"submit", "another status", `{"status":"queued"}`},
		{"delete", "no status", `{}`},
		{"delete", "another status", `{"status":"queued"}`},
		{"tracks", "no list", `{"playlist":{"title":"Rain"}}`},
		{"tracks", "no name", `{"playlist":{"track":[{"creator":"R.E.M."}]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.call+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			err := call(t, open(providertest.Always(200, tt.body)), tt.call)
			require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%v", err)
		})
	}
}

func TestPlaylists(t *testing.T) {
	t.Parallel()
	pages, err := collect(open(healthy(t)).Playlists(t.Context()))
	require.NoError(t, err)
	require.Equal(t, [][]library.Playlist{
		{
			{SourceID: "96485e27-967a-492c-9d04-c5a819baa2f3", Name: "Rain",
				Snapshot: "2026-11-01T10:00:00.123456+00:00"},
			{SourceID: "5cfd32ae-1a6c-4a1f-8f0e-1a1b64b3e2f4", Name: "Sunday", TrackCount: 7},
		},
		{{SourceID: "weekly-jams", Name: "Weekly Jams for geoff",
			Snapshot: "0d1e9d0c-6a0b-4a34-9e70-6d6f1b5f2a11 2026-11-16T00:05:00+00:00", TrackCount: 50,
			Locked: true}},
	}, pages)
}

func TestOnlyWhatIsMadeEachWeekIsFollowedByItsKind(t *testing.T) {
	t.Parallel()
	one := func(id, title, metadata string) string {
		return fmt.Sprintf(`{"playlist":{"identifier":"https://listenbrainz.org/playlist/%s","title":%q,"extension":{
			"https://musicbrainz.org/doc/jspf#playlist":{"last_modified_at":"then","additional_metadata":%s}}}}`,
			id, title, metadata)
	}
	of := func(kind string) string { return fmt.Sprintf(`{"algorithm_metadata":{"source_patch":%q}}`, kind) }
	made := []string{one("a", "Top Discoveries of 2023", of("top-discoveries-for-year")),
		one("b", "Top Discoveries of 2022", of("top-discoveries-for-year")),
		one("c", "Weekly Jams for geoff, week of 2026-11-16 Mon", of("weekly-jams")),
		one("d", "Weekly Jams for geoff, week of 2026-11-09 Mon", of("weekly-jams")),
		one("e", "Odd", `[]`), one("f", "Odder", `{"algorithm_metadata":7}`)}
	a := open(func(r *http.Request) (int, http.Header, string) {
		all := ""
		if strings.HasSuffix(r.URL.Path, "/createdfor") {
			all = strings.Join(made, ",")
		}
		return 200, nil, `{"playlists":[` + all + `]}`
	})
	pages, err := collect(a.Playlists(t.Context()))
	require.NoError(t, err)
	var ids []string
	for _, l := range pages[0] {
		ids = append(ids, l.SourceID+"/"+l.Name)
	}
	require.Equal(t, []string{"a/Top Discoveries of 2023", "b/Top Discoveries of 2022",
		"weekly-jams/Weekly Jams for geoff", "e/Odd", "f/Odder"}, ids)
}

func TestPlaylistsPaged(t *testing.T) {
	t.Parallel()
	for _, withTotal := range []bool{true, false} {
		t.Run(fmt.Sprintf("total=%v", withTotal), func(t *testing.T) {
			t.Parallel()
			var asked []string
			pages, err := collect(open(func(r *http.Request) (int, http.Header, string) {
				asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
				return 200, nil, listing(r.URL, 150, withTotal)
			}).Playlists(t.Context()))
			require.NoError(t, err)
			require.Equal(t, []string{
				"/1/user/geoff/playlists?count=100&offset=0", "/1/user/geoff/playlists?count=100&offset=100",
				"/1/user/geoff/playlists/createdfor?count=100&offset=0",
				"/1/user/geoff/playlists/createdfor?count=100&offset=100",
			}, asked)
			require.Len(t, pages, 2, "no duplicates")
			require.Len(t, pages[0], 100)
			require.Len(t, pages[1], 50)
		})
	}
}

// listing returns one page of n playlists.
func listing(u *url.URL, n int, withTotal bool) string {
	var count, offset int
	fmt.Sscan(u.Query().Get("count"), &count)
	fmt.Sscan(u.Query().Get("offset"), &offset)
	var rows []string
	for i := offset; i < min(offset+count, n); i++ {
		rows = append(rows,
			fmt.Sprintf(`{"playlist":{"identifier":"https://listenbrainz.org/playlist/p%d","title":"P"}}`, i))
	}
	total := ""
	if withTotal {
		total = fmt.Sprintf(`"playlist_count":%d,`, n)
	}
	return `{` + total + `"playlists":[` + strings.Join(rows, ",") + `]}`
}

func TestTracks(t *testing.T) {
	t.Parallel()
	rain := library.Playlist{SourceID: "96485e27-967a-492c-9d04-c5a819baa2f3"}
	pages, err := collect(open(healthy(t)).Tracks(t.Context(), rain, nil))
	require.NoError(t, err)
	require.Equal(t, [][]library.Track{{
		{
			Title: "Roygbiv", Artist: "Boards of Canada", Album: "Music Has the Right to Children",
			Duration:      150426 * time.Millisecond,
			RecordingMBID: "c21be27a-f1d2-4bd7-9bd7-3ca6ea2d7a4b", SourceID: "c21be27a-f1d2-4bd7-9bd7-3ca6ea2d7a4b",
		},
		{
			Title: "Blue", Artist: "R.E.M.",
			RecordingMBID: "83b57de1-7f69-43cb-a0df-5f77a882e954", SourceID: "83b57de1-7f69-43cb-a0df-5f77a882e954",
		},
	}}, pages)
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	p := providertest.New(Describe(), "api_url", "https://api example\x7f")
	_, err := p.Open(providertest.Call(providertest.Always(200, `{}`)), geoff).Prove(t.Context())
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
	require.NotContains(t, err.Error(), token)
}
