package listenbrainz

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

func TestListens(t *testing.T) {
	t.Parallel()
	pages, err := collect(open(healthy(t)).Listens(t.Context(), library.Span{}))
	require.NoError(t, err)
	at := func(unix int64) time.Time { return time.Unix(unix, 0).UTC() }
	require.Equal(t, []providers.ListenPage{{
		Oldest: at(1795197100),
		Total:  4,
		Listens: []library.Listen{
			{
				Track: library.Track{
					Title: "Roygbiv", Artist: "Boards of Canada", Album: "Music Has the Right to Children",
					Duration: 150426 * time.Millisecond,
					ISRC:     "GBBPW9800012", RecordingMBID: "c21be27a-f1d2-4bd7-9bd7-3ca6ea2d7a4b",
					SourceID: "db9a7483-a8f4-4a2c-99af-c8ab58850200",
					Artists: []library.Credit{{Name: "Boards of Canada",
						MBID: "69158f97-4c07-4c4e-baf8-4e4ab1ed666e"}},
				},
				SourceID: "1795197851:db9a7483-a8f4-4a2c-99af-c8ab58850200", PlayedAt: at(1795197851),
			},
			{
				Track: library.Track{
					Title: "Blue", Artist: "R.E.M.", Duration: 311 * time.Second, ISRC: "USWB11100092",
					RecordingMBID: "83b57de1-7f69-43cb-a0df-5f77a882e954",
					SourceID:      "2cfad207-3f55-4aec-8120-86cf66e34d59",
				},
				SourceID: "1795197851:2cfad207-3f55-4aec-8120-86cf66e34d59", PlayedAt: at(1795197851),
				Player: "Rhythmbox",
			},
			{
				Track:    library.Track{Title: "Rehearsal", Artist: "The Neighbours"},
				SourceID: "1795197300:" + library.NameHash("The Neighbours", "Rehearsal"), PlayedAt: at(1795197300),
			},
			{
				Track: library.Track{
					Title: "Rehearsal", Artist: "The Neighbours", Duration: 201500 * time.Millisecond,
					SourceID: "7f3d82ee-3817-4367-9eec-f33a312247a1",
				},
				SourceID: "1795197100:7f3d82ee-3817-4367-9eec-f33a312247a1", PlayedAt: at(1795197100),
			},
		},
	}}, pages)
}

func TestNameHash(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a68baebc958b5822836dbc78c536d3c7", library.NameHash("a", "b"),
		"stored listens are known by it: it must never change")
	require.NotEqual(t, library.NameHash("ab", "c"), library.NameHash("a", "bc"))
}

// history serves listens at these Unix seconds, newest first, as ListenBrainz does.
type history struct {
	seconds []int64
	most    int  // listens per page
	old     bool // a server without oldest_listen_ts
	asked   []string
}

func (h *history) respond(r *http.Request) (int, http.Header, string) {
	if strings.HasSuffix(r.URL.Path, "/listen-count") {
		h.asked = append(h.asked, "count")
		return 200, nil, fmt.Sprintf(`{"payload":{"count":%d}}`, len(h.seconds))
	}
	h.asked = append(h.asked, r.URL.Query().Get("max_ts"))
	var maxTS int64 = 1 << 40
	fmt.Sscan(r.URL.Query().Get("max_ts"), &maxTS)
	rows := []string{}
	for i, s := range h.seconds {
		if s < maxTS && len(rows) < h.most {
			const row = `{"listened_at":%d,"recording_msid":"m%d",` +
				`"track_metadata":{"artist_name":"A","track_name":"T"}}`
			rows = append(rows, fmt.Sprintf(row, s, i))
		}
	}
	oldest := ""
	if !h.old && len(h.seconds) > 0 {
		oldest = fmt.Sprintf(`,"oldest_listen_ts":%d`, h.seconds[len(h.seconds)-1])
	}
	return 200, nil, `{"payload":{"listens":[` + strings.Join(rows, ",") + `]` + oldest + `}}`
}

// ids returns the SourceIDs of all listens in the history.
func (h *history) ids() (ids []string) {
	for i, s := range h.seconds {
		ids = append(ids, fmt.Sprintf("%d:m%d", s, i))
	}
	return ids
}

// span returns n seconds in descending order from newest.
func span(newest int64, n int) (s []int64) {
	for i := range n {
		s = append(s, newest-int64(i))
	}
	return s
}

func TestWalk(t *testing.T) {
	t.Parallel()
	unix := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	tests := []struct {
		name    string
		history history
		span    library.Span
		missing int // listens at the end of ids that are not read
		skipped int // listens at the start of ids that are not read
		asked   []string
	}{
		{"nothing", history{most: 3}, library.Span{}, 0, 0, []string{"", "count"}},
		{"one page", history{seconds: span(1000, 2), most: 3}, library.Span{}, 0, 0, []string{"", "count"}},
		{"one page, older server", history{seconds: span(1000, 2), most: 3, old: true}, library.Span{}, 0, 0,
			[]string{"", "count", "1000", "999"}},
		{"three pages", history{seconds: span(1000, 7), most: 3}, library.Span{}, 0, 0,
			[]string{"", "count", "999", "997"}},
		{"a second across the border", history{seconds: []int64{9, 8, 7, 7, 7, 5}, most: 4}, library.Span{}, 0, 0,
			[]string{"", "count", "8"}},
		{"a second that fills a page", history{seconds: []int64{9, 7, 7, 7, 5, 4}, most: 3}, library.Span{}, 0, 0,
			[]string{"", "count", "8", "7"}},
		{"nothing but one second", history{seconds: []int64{7, 7, 7}, most: 3}, library.Span{}, 0, 0,
			[]string{"", "count"}},
		{"back to known listens", history{seconds: span(1000, 9), most: 3}, library.Span{After: unix(996)}, 4, 0,
			[]string{"", "999"}},
		{"nothing new", history{seconds: span(1000, 9), most: 3}, library.Span{After: unix(1000)}, 6, 0, []string{""}},
		{"resumed", history{seconds: []int64{9, 8, 7, 7, 7, 5}, most: 4}, library.Span{Before: unix(7)}, 0, 2,
			[]string{"8", "count"}},
		{"resumed in a gap", history{seconds: span(1000, 9), most: 3},
			library.Span{After: unix(996), Before: unix(999)}, 3, 1, []string{"1000", "998"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, &tt.history, tt.span)
			all := tt.history.ids()
			require.Equal(t, all[tt.skipped:len(all)-tt.missing], got)
			require.Equal(t, tt.asked, tt.history.asked)
		})
	}
}

// read walks h to the end and returns its plays in order. It also checks that a run can resume after every page.
func read(t *testing.T, h *history, span library.Span) (ids []string) {
	t.Helper()
	pages, err := collect(open(h.respond).Listens(t.Context(), span))
	require.NoError(t, err)
	for _, p := range pages {
		for _, l := range p.Listens {
			require.NotContains(t, ids, l.SourceID)
			ids = append(ids, l.SourceID)
		}
	}
	for n, p := range pages {
		have := map[string]bool{}
		for _, done := range pages[:n+1] {
			for _, l := range done.Listens {
				have[l.SourceID] = true
			}
		}
		again := &history{seconds: h.seconds, most: h.most, old: h.old}
		rest, err := collect(open(again.respond).Listens(t.Context(),
			library.Span{After: span.After, Before: p.Oldest}))
		require.NoError(t, err)
		for _, p := range rest {
			for _, l := range p.Listens {
				have[l.SourceID] = true
			}
		}
		for _, id := range ids {
			require.True(t, have[id], "%s is not read by a run that resumes after page %d", id, n+1)
		}
	}
	return ids
}

func TestServerThatIgnoresMaxTS(t *testing.T) {
	t.Parallel()
	h := &history{seconds: span(1000, 3), most: 3, old: true}
	asked := 0
	pages, err := collect(open(func(r *http.Request) (int, http.Header, string) {
		asked++
		r.URL.RawQuery = ""
		return h.respond(r)
	}).Listens(t.Context(), library.Span{}))
	require.NoError(t, err)
	require.Len(t, pages, 1)
	require.LessOrEqual(t, asked, 4)
}

func TestFullPageOfOneSecond(t *testing.T) {
	t.Parallel()
	h := &history{seconds: append(slices.Repeat([]int64{1000}, listensPerPage+2), 900), most: listensPerPage}
	pages, err := collect(open(h.respond).Listens(t.Context(), library.Span{}))
	require.NoError(t, err)
	require.Len(t, pages, 2)
	require.Len(t, pages[0].Listens, listensPerPage)
	require.Len(t, pages[1].Listens, 1)
	resumed := &history{seconds: h.seconds, most: h.most}
	pages, err = collect(open(resumed.respond).Listens(t.Context(), library.Span{Before: pages[0].Oldest}))
	require.NoError(t, err)
	require.Equal(t, "1000", resumed.asked[0], "a run that resumes does not read that second again")
	require.Len(t, pages, 1)
}

func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	pages, err := collect(open(providertest.Always(204, "")).Listens(t.Context(), library.Span{}))
	require.NoError(t, err)
	require.Empty(t, pages)
}

func TestTotal(t *testing.T) {
	t.Parallel()
	h := &history{seconds: span(1000, 3), most: 9}
	t.Run("a failure is no failure", func(t *testing.T) {
		for _, status := range []int{401, 404, 429, 503} {
			pages, err := collect(open(func(r *http.Request) (int, http.Header, string) {
				if strings.HasSuffix(r.URL.Path, "/listen-count") {
					return status, nil, `{}`
				}
				return h.respond(r)
			}).Listens(t.Context(), library.Span{}))
			require.NoError(t, err)
			require.Len(t, pages, 1)
			require.Zero(t, pages[0].Total)
		}
	})
	t.Run("our own stop is one", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := collect(open(func(r *http.Request) (int, http.Header, string) {
			if strings.HasSuffix(r.URL.Path, "/listen-count") {
				cancel()
				return 503, nil, `{}`
			}
			return h.respond(r)
		}).Listens(ctx, library.Span{}))
		require.Equal(t, resilience.Canceled, resilience.VerdictOf(err).Class)
	})
}

// BenchmarkListens reads 100 pages of 1000 listens.
func BenchmarkListens(b *testing.B) {
	const pages = 100
	row := providertest.Golden(b, "listens.json")
	row = row[strings.Index(row, "      {"):strings.Index(row, ",\n      {\n        \"inserted_at\": "+
		"1795198000,\n        \"listened_at\": 1795197851,\n        \"recording_msid\": \"2cf")]
	bodies := make([]string, pages)
	for p := range bodies {
		rows := make([]string, listensPerPage)
		for i := range rows {
			rows[i] = strings.ReplaceAll(row, "1795197851", fmt.Sprint(1795197851-p*listensPerPage-i))
		}
		bodies[p] = `{"payload":{"listens":[` + strings.Join(rows, ",") + `]}}`
	}
	b.SetBytes(int64(pages * len(bodies[0])))
	b.ReportAllocs()
	for b.Loop() {
		p, n := 0, 0
		far := func(r *http.Request) (int, http.Header, string) {
			if p == pages {
				return 204, nil, ""
			}
			p++
			return 200, nil, bodies[p-1]
		}
		for page, err := range open(far).Listens(b.Context(), library.Span{After: time.Unix(1, 0)}) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(page.Listens)
		}
		if n != pages*listensPerPage {
			b.Fatal(n)
		}
	}
}
