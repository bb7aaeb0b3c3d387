package spotify

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
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

// open returns an adapter whose upstream is far.
func open(far providertest.Respond) *adapter {
	p := providertest.New(Describe(), "client_id", "client")
	return p.Open(providertest.Call(far), nil).(*adapter)
}

// paged answers the page at offset 0 with first and every other with second.
func paged(t *testing.T, first, second string) providertest.Respond {
	pages := map[bool]string{true: providertest.Golden(t, first), false: providertest.Golden(t, second)}
	return func(r *http.Request) (int, http.Header, string) {
		return 200, nil, pages[r.URL.Query().Get("offset") == "0"]
	}
}

func item(status int) resilience.Meaning {
	m := resilience.StatusMeaning(http.StatusNotFound)
	m.Advice = words.Plain(fmt.Sprint(status))
	return m
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const list = "37i9dQZF1EP6YuccBxUcC1"
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(Describe(), "client_id", "client"),
		Playlist: library.Playlist{SourceID: list},
		// It has told of a version, so that a list may be unchanged.
		Playlists: providertest.Capability{Fine: []int{http.StatusNotModified}},
		Tracks:    providertest.Capability{Statuses: map[int]resilience.Meaning{403: item(403), 404: item(404)}},
		Loved:     library.Love{SourceID: "4uLU6hMCjMI75M1A2tKUQC", Score: library.Loved},
		Love:      providertest.Capability{Ignored: true, Healthy: providertest.Always(http.StatusOK, `{}`)},
		Simulated: func(t *testing.T) (http.RoundTripper, library.Credentials) {
			_, far := demotest.Start(t, demo.Spotify, list, func(w *demo.World) string {
				return w.Spotify.Authorize(demo.Alice, "user-read-recently-played", "playlist-read-private",
					"user-library-read").AccessToken
			})
			return far, library.Credentials{accountField: demo.Alice}
		},
	})
}

func TestTable(t *testing.T) {
	t.Parallel()
	const fatal, retriable = resilience.Fatal, resilience.Retriable
	auth := resilience.Verdict{Class: fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection}
	unlisted := resilience.Verdict{Class: fatal, Category: resilience.Config, Scope: resilience.ScopeConnection,
		ForAdmin: true}
	onItem := resilience.Verdict{Class: fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	upstream := resilience.Verdict{Class: retriable, Category: resilience.Upstream, Scope: resilience.ScopeStream}
	premium := resilience.Verdict{Class: retriable, Category: resilience.Permission, Scope: resilience.ScopeApp}
	tests := []struct {
		golden     string
		retryAfter string
		tracks     bool // the call is about one playlist
		writes     bool // the call changes it
		loves      bool // the call changes the liked songs
		want       resilience.Verdict
		wait       time.Duration // until want.NotBefore
		advice     string        // a part of it
	}{
		{golden: "401-expired.json", want: auth},
		{golden: "401-invalid.json", want: auth},
		{golden: "403-scope.json", want: auth, advice: "Reconnect"},
		{golden: "403-scope.json", tracks: true, want: auth, advice: "Reconnect"},
		{golden: "403-scope.json", writes: true, want: resilience.Verdict{Class: fatal,
			Category: resilience.Permission, Scope: resilience.ScopeStream}, advice: "isn't allowed"},
		{golden: "403-scope.json", loves: true, want: resilience.Verdict{Class: fatal,
			Category: resilience.Permission, Scope: resilience.ScopeStream}, advice: "liked songs"},
		{golden: "403-forbidden.json", writes: true, want: onItem, advice: "somebody else's"},
		{golden: "403-not-registered.txt", writes: true, want: unlisted, advice: "has to add you"},
		{golden: "404.json", writes: true, want: onItem, advice: "gone"},
		{golden: "403-not-registered.txt", want: unlisted, advice: "has to add you"},
		{golden: "403-not-registered.txt", tracks: true, want: unlisted, advice: "has to add you"},
		{golden: "403-may-not-be-registered.txt", want: unlisted, advice: "has to add you"},
		{golden: "403-is-not-registered.txt", want: unlisted, advice: "has to add you"},
		{golden: "403-premium.txt", want: premium, wait: 6 * time.Hour, advice: "Premium"},
		{golden: "403-premium-reason.json", want: premium, wait: 6 * time.Hour, advice: "Premium"},
		{golden: "403-forbidden.json", want: resilience.Verdict{Class: fatal, Category: resilience.Permission,
			Scope: resilience.ScopeStream}},
		{golden: "403-forbidden.json", tracks: true, want: onItem, advice: "own"},
		{golden: "404.json", want: onItem},
		{golden: "404.json", tracks: true, want: onItem, advice: "gone"},
		{golden: "429.json", want: resilience.Verdict{Class: retriable, Category: resilience.RateLimit,
			Scope: resilience.ScopeConnection}},
		{golden: "429.json", retryAfter: "86400", want: resilience.Verdict{Class: retriable,
			Category: resilience.RateLimit, Scope: resilience.ScopeApp}, wait: 24 * time.Hour},
		{golden: "429-quota.json", want: resilience.Verdict{Class: retriable, Category: resilience.Quota,
			Scope: resilience.ScopeApp}, wait: 24 * time.Hour, advice: "quota"},
		{golden: "429-quota.json", retryAfter: "5400", want: resilience.Verdict{Class: retriable,
			Category: resilience.Quota, Scope: resilience.ScopeApp}, wait: 90 * time.Minute, advice: "quota"},
		{golden: "400.json", want: onItem},
		{golden: "503.json", want: upstream},
	}
	var met []providers.Row
	for _, tt := range tests {
		status, err := strconv.Atoi(tt.golden[:3])
		require.NoError(t, err)
		e := &resilience.AnswerError{Status: status, Body: []byte(providertest.Golden(t, tt.golden))}
		explain(e)
		met = append(met, providers.Row{Status: status, Code: e.Code})
		name := fmt.Sprintf("%s tracks=%v writes=%v loves=%v after=%s", tt.golden, tt.tracks, tt.writes,
			tt.loves, tt.retryAfter)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				header := http.Header{"Retry-After": {tt.retryAfter}}
				if strings.HasSuffix(tt.golden, ".txt") {
					header.Set("Content-Type", "text/plain; charset=utf-8")
				}
				body := providertest.Golden(t, tt.golden)
				a := open(func(*http.Request) (int, http.Header, string) { return status, header, body })
				var err error
				switch {
				case tt.loves:
					_, err = a.Love(t.Context(), library.Love{SourceID: "x", Score: library.Loved})
				case tt.writes:
					err = a.fill(t.Context(), "x", http.MethodPut, nil)
				case tt.tracks:
					err = last(a.Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil))
				default:
					_, err = a.Prove(t.Context())
				}
				if tt.wait > 0 {
					tt.want.NotBefore = time.Now().Add(tt.wait)
				}
				checkRefusal(t, err, tt.want, tt.advice)
			})
		})
	}
	providertest.Rows(t, tables(), met)
}

// checkRefusal checks that err is an answer with that verdict, Spotify's message, and advice that contains advice, or
// none.
func checkRefusal(t *testing.T, err error, want resilience.Verdict, advice string) {
	t.Helper()
	require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
	var refusal *resilience.AnswerError
	require.ErrorAs(t, err, &refusal)
	require.NotEmpty(t, refusal.Message)
	if advice == "" {
		require.True(t, refusal.Meaning == nil || refusal.Meaning.Advice == nil)
		return
	}
	require.NotNil(t, refusal.Meaning)
	require.Contains(t, refusal.Meaning.Advice.String(), advice)
}

func TestProve(t *testing.T) {
	t.Parallel()
	account, err := open(providertest.Always(200, providertest.Golden(t, "me.json"))).Prove(t.Context())
	require.NoError(t, err)
	learned := library.Credentials{"account": "geoff"}
	require.Equal(t, providers.Account{ID: "geoff", Name: "Geoff", Learned: learned}, account)
	account, err = open(providertest.Always(200, `{"id":"geoff","display_name":null}`)).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{ID: "geoff", Name: "geoff", Learned: learned}, account)
}

func readListens(t *testing.T, a *adapter, span library.Span) []providers.ListenPage {
	t.Helper()
	var pages []providers.ListenPage
	for page, err := range a.Listens(t.Context(), span) {
		require.NoError(t, err)
		pages = append(pages, page)
	}
	return pages
}

func TestListens(t *testing.T) {
	t.Parallel()
	far := providertest.Always(200, providertest.Golden(t, "recently-played.json"))
	pages := readListens(t, open(far), library.Span{})
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, []providers.ListenPage{{
		Oldest: at("2026-11-20T17:55:00.5Z"),
		Listens: []library.Listen{
			{
				Track: library.Track{
					Title: "Roygbiv", Artist: "Boards of Canada", Album: "Music Has the Right to Children",
					Duration: 150426 * time.Millisecond,
					ISRC:     "GBBPW9800012", SourceID: "3hxIUxnT27p5WcmjGUXNwx",
					Artists: []library.Credit{{Name: "Boards of Canada"}},
				},
				SourceID: "1795197851:3hxIUxnT27p5WcmjGUXNwx", PlayedAt: at("2026-11-20T18:04:11.123Z"),
			},
			{
				Track: library.Track{
					Title: "Blue", Artist: "R.E.M., Patti Smith", Album: "Collapse Into Now",
					Duration: 311 * time.Second,
					ISRC:     "USWB11100092", SourceID: "5Kjbtk49Bx5ZQAzKFfFBGu",
					Artists: []library.Credit{{Name: "R.E.M."}, {Name: "Patti Smith"}},
				},
				SourceID: "1795197539:5Kjbtk49Bx5ZQAzKFfFBGu", PlayedAt: at("2026-11-20T17:58:59Z"),
			},
			{
				Track: library.Track{
					Title: "Rehearsal", Artist: "The Neighbours", Album: "Kitchen tapes", Duration: 201 * time.Second,
					SourceID: "spotify:local:The+Neighbours:Kitchen+tapes:Rehearsal:201",
					Artists:  []library.Credit{{Name: "The Neighbours"}},
				},
				SourceID: "1795197300:spotify:local:The+Neighbours:Kitchen+tapes:Rehearsal:201",
				PlayedAt: at("2026-11-20T17:55:00.5Z"),
			},
		},
	}}, pages)
	require.Empty(t, readListens(t, open(providertest.Always(200, `{"items":[]}`)), library.Span{}))
}

// plays returns an answer with n plays, one minute apart, starting with the oldest at first.
func plays(n int, first time.Time) string {
	rows := make([]string, n)
	for i := range rows {
		at := first.Add(time.Duration(n-1-i) * time.Minute).UTC().Format(time.RFC3339)
		const row = `{"track":{"id":"t%d","name":"Title","artists":[{"name":"Artist"}]},"played_at":%q}`
		rows[i] = fmt.Sprintf(row, i, at)
	}
	return `{"items":[` + strings.Join(rows, ",") + `]}`
}

func TestListensSpan(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1795197851123).UTC()
	tests := []struct {
		name  string
		span  library.Span
		rows  int
		query string
		lost  bool
	}{
		{"everything", library.Span{}, 50, "limit=50", false},
		{"a full page after", library.Span{After: at}, 50, "after=1795197851123&limit=50", true},
		{"part of a page after", library.Span{After: at}, 49, "after=1795197851123&limit=50", false},
		{"a full page that reaches back", library.Span{After: at.Add(time.Hour)}, 50,
			"after=1795201451123&limit=50", false},
		{"a gap", library.Span{After: at, Before: at.Add(time.Hour)}, 3, "after=1795197851123&limit=50", false},
		{"before", library.Span{Before: at}, 3, "before=1795197851123&limit=50", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var query string
			pages := readListens(t, open(func(r *http.Request) (int, http.Header, string) {
				query = r.URL.RawQuery
				return 200, nil, plays(tt.rows, at.Add(time.Minute))
			}), tt.span)
			require.Len(t, pages, 1)
			require.Equal(t, tt.query, query)
			require.Equal(t, tt.lost, pages[0].Lost)
			require.Len(t, pages[0].Listens, tt.rows)
			require.Equal(t, at.Add(time.Minute).Truncate(time.Second), pages[0].Oldest)
		})
	}
}

func TestPlaylists(t *testing.T) {
	t.Parallel()
	var urls []string
	far := paged(t, "playlists-1.json", "playlists-2.json")
	a := open(func(r *http.Request) (int, http.Header, string) {
		urls = append(urls, r.URL.String())
		return far(r)
	})
	var got []library.Playlist
	for page, err := range a.Playlists(t.Context()) {
		require.NoError(t, err)
		for _, p := range page {
			p.Snapshot, _, _ = strings.Cut(p.Snapshot, "/") // the week
			got = append(got, p)
		}
	}
	require.Equal(t, []library.Playlist{
		{SourceID: "37i9dQZF1EP6YuccBxUcC1", Name: "Rain", Snapshot: "AAAAB8jq2XU3W2VyB8Vpo5uYbJ3Q", TrackCount: 4},
		{SourceID: "5v8hqSDZ9dJeKnVNnVN1aV", Name: "Sunday", Snapshot: "AAAAAn8jq2XUrrW2VyB8Vpo5uYbJ", TrackCount: 12},
	}, got)
	require.Equal(t, []string{
		"https://api.spotify.com/v1/me/playlists?limit=50&offset=0",
		"https://api.spotify.com/v1/me/playlists?limit=50&offset=2",
	}, urls, "next leads to another host and is not followed")
}

// tagged adds an ETag to the answers of far, made of the offset and version, and answers 304 when it matches.
func tagged(far providertest.Respond, version *string) (_ providertest.Respond, unchanged *int) {
	unchanged = new(int)
	return func(r *http.Request) (int, http.Header, string) {
		etag := `"` + *version + r.URL.Query().Get("offset") + `"`
		if r.Header.Get("If-None-Match") == etag {
			*unchanged++
			return 304, nil, ""
		}
		status, _, body := far(r)
		return status, http.Header{"Etag": {etag}}, body
	}, unchanged
}

func TestAnUnchangedListOfPlaylistsIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		version := "one"
		far, unchanged := tagged(paged(t, "playlists-1.json", "playlists-2.json"), &version)
		p := providertest.New(Describe(), "client_id", "client")
		read := func(account string) (all []library.Playlist) {
			a := p.Open(providertest.Call(far), library.Credentials{accountField: account})
			for page, err := range a.(providers.PlaylistSource).Playlists(t.Context()) {
				require.NoError(t, err)
				all = append(all, page...)
			}
			return all
		}
		first := read("geoff")
		require.Len(t, first, 2)
		require.Zero(t, *unchanged)
		require.Equal(t, first, read("geoff"))
		require.Equal(t, 2, *unchanged, "both pages")
		others := read("somebody else")
		require.Equal(t, []bool{false, true}, []bool{first[0].Locked, others[0].Locked}, "only geoff can change it")
		require.Equal(t, first[0].SourceID, others[0].SourceID)
		require.Equal(t, first, read(""))
		require.Equal(t, first, read(""))
		require.Equal(t, 2, *unchanged, "pages are not shared")
		version = "two"
		require.Equal(t, first, read("geoff"))
		require.Equal(t, 2, *unchanged, "a list that has changed is sent")
		require.Equal(t, first, read("geoff"))
		require.Equal(t, 4, *unchanged)
		time.Sleep(memoryAge)
		require.Equal(t, first, read("geoff"))
		require.Equal(t, 4, *unchanged, "once a day it is sent whatever its ETag says")
	})
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for i := range 3 * mostPages {
		m.keep(fmt.Sprint(i), remembered{"x", time.Now(), page[playlist]{}})
		require.LessOrEqual(t, len(m.pages), mostPages)
		require.Equal(t, "x", m.page(fmt.Sprint(i)).etag)
	}
}

func TestTracks(t *testing.T) {
	t.Parallel()
	var path string
	far := paged(t, "items-1.json", "items-2.json")
	a := open(func(r *http.Request) (int, http.Header, string) {
		path = r.URL.EscapedPath()
		return far(r)
	})
	var titles []string
	for page, err := range a.Tracks(t.Context(), library.Playlist{SourceID: "a/b"}, nil) {
		require.NoError(t, err)
		for _, tr := range page {
			titles = append(titles, tr.Title+" by "+tr.Artist)
		}
	}
	require.Equal(t, []string{"Roygbiv by Boards of Canada", "Rehearsal by The Neighbours"}, titles)
	require.Equal(t, "/v1/playlists/a%2Fb/items", path)
}

func TestBrokenShapes(t *testing.T) {
	t.Parallel()
	prove := func(a *adapter) (err error) { _, err = a.Prove(t.Context()); return err }
	listens := func(a *adapter) error { return last(a.Listens(t.Context(), library.Span{})) }
	playlists := func(a *adapter) error { return last(a.Playlists(t.Context())) }
	tracks := func(a *adapter) error { return last(a.Tracks(t.Context(), library.Playlist{SourceID: "x"}, nil)) }
	tests := []struct {
		name, body string
		read       func(*adapter) error
	}{
		{"an account without an id", `{"display_name":"Geoff"}`, prove},
		{"a play without a time", `{"items":[{"track":{"id":"x","name":"X"}}]}`, listens},
		{"a play without a track", `{"items":[{"played_at":"2026-11-20T17:55:00Z"}]}`, listens},
		{"a playlist without an id", `{"items":[{"name":"X"}]}`, playlists},
		{"an empty page in the middle", `{"items":[],"next":"https://api.spotify.com/v1/x","total":120}`, playlists},
		{"a row without an item", `{"items":[{"added_at":"2026-01-14T08:05:12Z","recording":{}}]}`, tracks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.read(open(providertest.Always(200, tt.body)))
			require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%v", err)
		})
	}
}

// last returns the error that ends a sequence.
func last[V any](seq iter.Seq2[V, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	p := providertest.New(Describe(), "api_url", "https://api example\x7f")
	_, err := p.Open(providertest.Call(providertest.Always(200, `{}`)), nil).Prove(t.Context())
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
}
