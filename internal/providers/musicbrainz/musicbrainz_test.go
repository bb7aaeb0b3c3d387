package musicbrainz

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

const (
	bandID  = "f6f2326f-6b25-4170-b89d-e235b25508e8"
	albumID = "fbb3da10-0d5c-3f30-8c80-4b1e2e1e1a01"
	trackID = "9e2c6a4e-1b0f-4b6e-8a1d-3f6b7c8d9e01"
)

var (
	band  = library.Entity{Kind: library.KindArtist, Artist: "Sigur Rós"}
	album = library.Entity{Kind: library.KindAlbum, Artist: "Sigur Rós", Title: "Ágætis byrjun"}
	track = library.Entity{Kind: library.KindTrack, Artist: "Sigur Rós", Title: "Svefn-g-englar",
		Duration: 604 * time.Second}
)

// known returns e with its MusicBrainz id.
func known(e library.Entity, mbid string) library.Entity {
	e.MBID = mbid
	return e
}

// healthy returns a MusicBrainz that serves testdata.
func healthy(t *testing.T) providertest.Respond {
	answer := func(name string) providertest.Respond {
		return providertest.Always(200, providertest.Golden(t, name+".json"))
	}
	return providertest.Routes(map[string]providertest.Respond{
		"GET /ws/2/artist":                      answer("artist-search"),
		"GET /ws/2/artist/" + bandID:            answer("artist"),
		"GET /ws/2/release-group":               answer("release-group-search"),
		"GET /ws/2/release-group/" + albumID:    answer("release-group"),
		"GET /ws/2/recording":                   answer("recording-search"),
		"GET /ws/2/recording/" + trackID:        answer("recording"),
		"GET /mirror/ws/2/recording/" + trackID: answer("recording"),
	})
}

// asking returns a source with these settings that calls through client.
func asking(client *http.Client, settings ...string) providers.Enricher {
	return providertest.NewIn(providers.Installation{Client: client}, Describe(), settings...).Enricher
}

func of(far providertest.Respond) providers.Enricher { return asking(providertest.Client(far)) }

func TestConformance(t *testing.T) {
	t.Parallel()
	statuses := map[int]resilience.Meaning{503: throttled, 401: blocked, 403: blocked}
	for name, e := range map[string]library.Entity{"a search": album, "a lookup": known(track, trackID)} {
		t.Run(name, func(t *testing.T) {
			providertest.RunEnrichment(t, providertest.Enrichment{
				New: func(c *http.Client) providers.Enricher {
					return asking(c, "api_url", "https://mb.example.org/")
				},
				Entity:     e,
				Capability: providertest.Capability{Healthy: healthy(t), Statuses: statuses},
			})
		})
	}
}

// TestTable has one golden body per row of the error table and checks the verdict of each.
func TestTable(t *testing.T) {
	t.Parallel()
	verdict := func(c resilience.Class, category resilience.Category, s resilience.Scope) resilience.Verdict {
		return resilience.Verdict{Class: c, Category: category, Scope: s}
	}
	config := verdict(resilience.Fatal, resilience.Config, resilience.ScopeApp)
	item := verdict(resilience.Fatal, resilience.Item, resilience.ScopeItem)
	limit := verdict(resilience.Retriable, resilience.RateLimit, resilience.ScopeApp)
	upstream := verdict(resilience.Retriable, resilience.Upstream, resilience.ScopeStream)
	rows := map[string]resilience.Verdict{
		"503-throttled": limit, "503-busy": limit, "429-tooMany": limit,
		"404-merged": item, "400-query": item,
		"403-blocked": config, "401-blocked": config,
		"500-error": upstream, "502-gateway": upstream,
	}
	files, err := filepath.Glob("testdata/[45]*.json")
	require.NoError(t, err)
	require.Len(t, files, len(rows), "every golden refusal has its row")
	providertest.Rows(t, tables(), met(t, rows))
	for name, want := range rows {
		body := providertest.Golden(t, name+".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var status int
				_, err := fmt.Sscan(name[:3], &status)
				require.NoError(t, err)
				if status == 503 {
					want.NotBefore = time.Now().Add(10 * time.Second)
					want.Hold, want.HoldMax = 10*time.Second, 10*time.Minute
				} else if status == 429 { // the answer names no wait
					want.Scope = resilience.ScopeConnection
				}
				_, err = of(providertest.Always(status, body)).Enrich(t.Context(), resilience.Call{}, known(band,
					bandID))
				require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
				var refusal *resilience.AnswerError
				require.ErrorAs(t, err, &refusal)
				require.NotEmpty(t, refusal.Message)
				if want.Category == resilience.Config {
					require.Contains(t, refusal.Meaning.Advice.String(), "contact")
				}
			})
		})
	}
}

// met returns the statuses of the golden refusals.
func met(t *testing.T, rows map[string]resilience.Verdict) (met []providers.Row) {
	t.Helper()
	for name := range rows {
		status, err := strconv.Atoi(name[:3])
		require.NoError(t, err)
		met = append(met, providers.Row{Status: status})
	}
	return met
}

func TestTheWaitOfAThrottledAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for retryAfter, want := range map[string]resilience.Verdict{
			"7": {NotBefore: time.Now().Add(7 * time.Second)},
			"0": {NotBefore: time.Now().Add(10 * time.Second), Hold: 10 * time.Second, HoldMax: 10 * time.Minute},
			"soon": {NotBefore: time.Now().Add(10 * time.Second), Hold: 10 * time.Second, HoldMax: 10 * time.Minute,
				BadWait: true},
		} {
			_, err := of(func(*http.Request) (int, http.Header, string) {
				return 503, http.Header{"Retry-After": {retryAfter}},
					`{"error":"The MusicBrainz web server is currently busy."}`
			}).Enrich(t.Context(), resilience.Call{}, band)
			want.Class, want.Category, want.Scope = resilience.Retriable, resilience.RateLimit, resilience.ScopeApp
			require.Equal(t, want, resilience.VerdictOf(err), retryAfter)
		}
	})
}

func TestFacts(t *testing.T) {
	t.Parallel()
	bandTags := []string{"post-rock", "dream pop", "ambient", "icelandic"}
	for name, c := range map[string]struct {
		entity library.Entity
		want   library.Facts
	}{
		"an artist by name": {band,
			library.Facts{MBID: bandID, Name: "Sigur Rós", Tags: bandTags[:2], Released: "1994"}},
		"an artist by id": {known(band, bandID),
			library.Facts{MBID: bandID, Name: "Sigur Rós", Tags: bandTags, Released: "1994-01-04"}},
		"an album by name": {album,
			library.Facts{MBID: albumID, Name: "Ágætis byrjun", Tags: bandTags[:1], Released: "1999-06-12"}},
		"an album by id": {known(album, albumID), library.Facts{
			MBID: albumID, Name: "Ágætis byrjun", Tags: []string{"post-rock", "ambient"}, Released: "1999-06-12",
		}},
		"a recording by id": {known(track, trackID),
			library.Facts{MBID: trackID, Name: "Svefn-g-englar", Tags: bandTags[:1], Released: "1999-06-12"}},
		"a recording by name": {track,
			library.Facts{MBID: trackID, Name: "Svefn‐g‐englar", Tags: bandTags[:1], Released: "1999-06-12"}},
	} {
		requests := 0
		far := healthy(t)
		got, err := of(func(r *http.Request) (int, http.Header, string) {
			requests++
			require.Equal(t, "json", r.URL.Query().Get("fmt"))
			return far(r)
		}).Enrich(t.Context(), resilience.Call{}, c.entity)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
		require.Equal(t, 1, requests, name)
	}
	mirror := asking(providertest.Client(healthy(t)), "api_url", "https://mb.example.org/mirror/")
	got, err := mirror.Enrich(t.Context(), resilience.Call{}, known(track, trackID))
	require.NoError(t, err)
	require.Equal(t, trackID, got.MBID)
	_, err = asking(providertest.Client(healthy(t)), "api_url", "https://mb example\x7f").Enrich(t.Context(),
		resilience.Call{}, band)
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
}

func TestManyTags(t *testing.T) {
	t.Parallel()
	var tags []tag
	for i := range 30 {
		tags = append(tags, tag{fmt.Sprintf(" Tag %02d", i), i})
	}
	names := tagNames(tags)
	require.Len(t, names, library.MaxTags)
	require.Equal(t, "tag 29", names[0])
}

// query returns the path and the query of the search for e.
func query(t *testing.T, e library.Entity) (path, query string) {
	t.Helper()
	_, err := of(func(r *http.Request) (int, http.Header, string) {
		path, query = r.URL.Path, r.URL.Query().Get("query")
		return 200, nil, `{"artists":[],"release-groups":[],"recordings":[]}`
	}).Enrich(t.Context(), resilience.Call{}, e)
	require.ErrorIs(t, err, library.ErrNotThere)
	return path, query
}

func TestQueries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entity      library.Entity
		path, query string
	}{
		{band, "/ws/2/artist", `artist:"Sigur Rós" OR alias:"Sigur Rós"`},
		{album, "/ws/2/release-group", `releasegroup:"Ágætis byrjun" AND artist:"Sigur Rós"`},
		{track, "/ws/2/recording", `recording:"Svefn-g-englar" AND artist:"Sigur Rós"`},
		{library.Entity{Kind: library.KindArtist, Artist: `AC/DC "live" \ (a:b) !`}, "/ws/2/artist",
			`artist:"AC/DC \"live\" \\ (a:b) !" OR alias:"AC/DC \"live\" \\ (a:b) !"`},
		{library.Entity{Kind: library.KindTrack, Artist: "A", Title: "T (2011 Remaster)", ISRC: "GBAAA9900303"},
			"/ws/2/recording", `isrc:"GBAAA9900303" OR (recording:"T" AND artist:"A")`},
		{library.Entity{Kind: library.KindTrack, ISRC: "GBAAA9900303"}, "/ws/2/recording", `isrc:"GBAAA9900303"`},
		{library.Entity{Kind: library.KindAlbum, Artist: "A", Title: "T - Deluxe Edition [Remastered]"},
			"/ws/2/release-group", `releasegroup:"T" AND artist:"A"`},
		// Entities without names cannot be searched for.
		{library.Entity{Kind: library.KindArtist, Artist: " "}, "", ""},
		{library.Entity{Kind: library.KindAlbum, Title: "T"}, "", ""},
		{library.Entity{Kind: library.KindTrack, Artist: "A"}, "", ""},
		{library.Entity{Kind: "label", Artist: "A"}, "", ""},
	} {
		path, got := query(t, c.entity)
		require.Equal(t, c.path, path)
		require.Equal(t, c.query, got)
	}
	path := ""
	_, _ = of(func(r *http.Request) (int, http.Header, string) {
		path = r.URL.EscapedPath()
		return 404, nil, `{}`
	}).Enrich(t.Context(), resilience.Call{}, known(band, "../release?x"))
	require.Equal(t, "/ws/2/artist/"+url.PathEscape("../release?x"), path)
}

// hits answers a search with recordings, each "T" by "A" unless a change says otherwise.
func hits(t *testing.T, changes ...map[string]any) providertest.Respond {
	t.Helper()
	list := []map[string]any{}
	for i, change := range changes {
		hit := map[string]any{"id": fmt.Sprint(i), "score": 100, "title": "T",
			"artist-credit": []any{map[string]any{"name": "A", "artist": map[string]any{"name": "A"}}}}
		maps.Copy(hit, change)
		list = append(list, hit)
	}
	body, err := json.Marshal(map[string]any{"recordings": list, "artists": list})
	require.NoError(t, err)
	return providertest.Always(200, string(body))
}

// credits returns an artist credit of MusicBrainz.
func credits(namesAndJoins ...string) (list []any) {
	for i := 0; i < len(namesAndJoins); i += 2 {
		list = append(list, map[string]any{"name": namesAndJoins[i], "joinphrase": namesAndJoins[i+1]})
	}
	return list
}

func TestOnlyACertainHitIsTaken(t *testing.T) {
	t.Parallel()
	type change = map[string]any
	plain := library.Entity{Kind: library.KindTrack, Artist: "A", Title: "T", Duration: 200 * time.Second}
	with := func(f func(*library.Entity)) library.Entity { e := plain; f(&e); return e }
	named := func(artist, title string) library.Entity {
		return with(func(e *library.Entity) { e.Artist, e.Title = artist, title })
	}
	coded := with(func(e *library.Entity) { e.ISRC = "GBAAA9900303" })
	for name, c := range map[string]struct {
		entity library.Entity
		hits   []change
		want   string // index of the hit; empty for none
	}{
		"nothing found":        {plain, nil, ""},
		"the same names":       {plain, []change{{}}, "0"},
		"another title":        {plain, []change{{"title": "T two"}}, ""},
		"another artist":       {plain, []change{{"artist-credit": credits("B", "")}}, ""},
		"no artist":            {plain, []change{{"artist-credit": []any{}}}, ""},
		"a low score":          {plain, []change{{"score": 89}}, ""},
		"without an id":        {plain, []change{{"id": ""}, {}}, "1"},
		"guests of the credit": {plain, []change{{"artist-credit": credits("A", " feat. ", "B", "")}}, "0"},

		"guests in the title": {named("A", "T (feat. B)"), []change{{}}, "0"},
		"a remaster":          {named("A", "T - 2011 Remaster"), []change{{}}, "0"},
		"a live version":      {named("A", "T (Live, Remastered)"), []change{{}}, ""},
		"a remix":             {named("A", "T (B Remix)"), []change{{}}, ""},
		"about as long":       {plain, []change{{"length": 209_000}}, "0"},
		"much longer":         {plain, []change{{"length": 211_000}}, ""},

		"live versions last": {plain, []change{{"disambiguation": "live, 1999"}, {}}, "1"},
		"no films":           {plain, []change{{"video": true}}, ""},
		"accents and case": {
			named("bjork", "joga"), []change{{"title": "Jóga", "artist-credit": credits("Björk", "")}}, "0",
		},
		"artists joined otherwise": {
			named("A, B", "T"), []change{{"artist-credit": credits("A", " with ", "B", "")}}, "0",
		},
		"the nearest length": {
			plain, []change{{"length": 207_000}, {"length": 201_000}, {"length": 193_000}}, "1",
		},
		"of unknown length": {
			with(func(e *library.Entity) { e.Duration = 0 }), []change{{"length": 500_000}}, "0",
		},
		"the first of equals": {plain, []change{
			{"first-release-date": "2001"}, {"first-release-date": "1999-02"}, {"first-release-date": "1999"},
		}, "1"},
		"the album that is named": {with(func(e *library.Entity) { e.Album = "L (Deluxe)" }), []change{
			{"length": 200_000}, {"length": 205_000, "releases": []change{{"title": "L"}}},
		}, "1"},
		"the code before the names": {coded, []change{
			{"length": 200_000}, {"score": 40, "length": 300_000, "isrcs": []string{"gbaaa9900303"}},
		}, "1"},
		"the code, though the title differs": {
			coded, []change{{"title": "Tee", "isrcs": []string{"GBAAA9900303"}}}, "0",
		},
		"the code of something else": {coded, []change{
			{"title": "U", "artist-credit": credits("B", ""), "isrcs": []string{"GBAAA9900303"}},
		}, ""},
		"another code": {coded, []change{{"title": "Tee", "isrcs": []string{"GBAAA9900304"}}}, ""},
	} {
		facts, err := of(hits(t, c.hits...)).Enrich(t.Context(), resilience.Call{}, c.entity)
		if c.want == "" {
			require.ErrorIs(t, err, library.ErrNotThere, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, facts.MBID, name)
	}
}

func TestArtistsWhoShareAName(t *testing.T) {
	t.Parallel()
	type change = map[string]any
	nirvana := library.Entity{Kind: library.KindArtist, Artist: "Nirvana"}
	for name, c := range map[string]struct {
		hits []change
		want string
	}{
		"one":                   {[]change{{"name": "NIRVANA"}, {"name": "Nirvana 2002"}}, "0"},
		"one who is well known": {[]change{{"name": "Nirvana"}, {"name": "Nirvana", "score": 80}}, "0"},
		"two":                   {[]change{{"name": "Nirvana"}, {"name": "Nirvana", "score": 95}}, ""},
		"by another name":       {[]change{{"name": "N", "aliases": []change{{"name": "nirvana"}}}}, "0"},
	} {
		facts, err := of(hits(t, c.hits...)).Enrich(t.Context(), resilience.Call{}, nirvana)
		if c.want == "" {
			require.ErrorIs(t, err, library.ErrNotThere, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, facts.MBID, name)
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1999":          "1999",
		"1999-06":       "1999-06",
		"1999-06-12":    "1999-06-12",
		"":              "",
		"????-06-12":    "",
		"99":            "",
		"1999-6":        "",
		"1999-06-12-01": "",
	} {
		require.Equal(t, want, date(text), text)
	}
}
