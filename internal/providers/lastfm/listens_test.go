package lastfm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

func unix(s int64) time.Time { return time.Unix(s, 0).UTC() }

func TestListens(t *testing.T) {
	t.Parallel()
	pages, err := collect(open(healthy(t)).Listens(t.Context(), library.Span{}))
	require.NoError(t, err)
	listen := func(at int64, artist, title, album string) library.Listen {
		return library.Listen{Track: library.Track{Title: title, Artist: artist, Album: album},
			SourceID: fmt.Sprint(at) + ":" + library.NameHash(artist, title), PlayedAt: unix(at)}
	}
	require.Equal(t, []providers.ListenPage{{
		Oldest: unix(1795197539), Total: 3,
		Listens: []library.Listen{
			listen(1795197851, "Sigur Rós", "Svefn-g-englar", "Ágætis byrjun"),
			listen(1795197539, "R.E.M.", "Blue", ""),
			listen(1795197539, "Björk", "Jóga", "Homogenic"),
		},
	}}, pages, "what is playing now is no listen yet")
	require.Equal(t, "ceabb6336dfd44e7935492af4ce04f9a", library.NameHash("Sigur Rós", "Svefn-g-englar"),
		"as in every release before")
	require.NotEqual(t, library.NameHash("AB", "C"), library.NameHash("A", "BC"))
}

func TestListensInOtherForms(t *testing.T) {
	t.Parallel()
	row := func(body string) string {
		return `{"recenttracks":{"track":[` + body + `],"@attr":{"totalPages":"1","total":"1"}}}`
	}
	tests := []struct {
		name, body string
		want       int
	}{
		{"one as an object", providertest.Golden(t, "recent_one.json"), 1},
		{"none", providertest.Golden(t, "recent_none.json"), 0},
		{"only the playing track", providertest.Golden(t, "recent_playing.json"), 0},
		{"extended", row(`{"artist":{"name":"Björk","url":"x"},"name":"Jóga","date":{"uts":"5"}}`), 1},
		{"numbers as numbers", row(`{"artist":"Björk","name":"Jóga","date":{"uts":5}}`), 1},
		{"without pages", `{"recenttracks":{"track":[{"artist":"Björk","name":"Jóga","date":{"uts":5}}]}}`, 1},
		{"one row without a date among others",
			row(`{"artist":"Björk","name":"Jóga","date":{"uts":5}},{"artist":"Björk","name":"Hunter"}`), 1},
		{"one row of another shape",
			row(`{"artist":"Björk","name":"Jóga","date":{"uts":5}},{"artist":[],"name":7,"date":{"uts":4}}`), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pages, err := collect(open(providertest.Always(200, tt.body)).Listens(t.Context(), library.Span{}))
			require.NoError(t, err)
			n := 0
			for _, p := range pages {
				n += len(p.Listens)
			}
			require.Equal(t, tt.want, n)
		})
	}
}

func TestBrokenListens(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no list":           `{"recenttracks":{"@attr":{"totalPages":"1"}}}`,
		"null for a list":   `{"recenttracks":{"track":null}}`,
		"no dates":          `{"recenttracks":{"track":[{"artist":{"#text":"Björk"},"name":"Jóga"}]}}`,
		"no names":          `{"recenttracks":{"track":[{"date":{"uts":"5"}}]}}`,
		"a text for a list": `{"recenttracks":{"track":"none"}}`,
		"many pages":        `{"recenttracks":{"track":[],"@attr":{"totalPages":"many","total":"1"}}}`,
		"a total below 0":   `{"recenttracks":{"track":[],"@attr":{"totalPages":"1","total":"-1"}}}`,
	} {
		_, err := collect(open(providertest.Always(200, body)).Listens(t.Context(), library.Span{}))
		require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, name)
	}
}

// history serves a user's plays, newest first, as Last.fm does.
type history struct {
	seconds   []int64
	most      int  // plays per page, at most
	inclusive bool // to is part of the range
	deaf      bool // to and from are ignored
	playing   bool
	asked     []string // from-to/page
}

func (h *history) respond(r *http.Request) (int, http.Header, string) {
	f := form(r)
	h.asked = append(h.asked, f.Get("from")+"-"+f.Get("to")+"/"+f.Get("page"))
	number := func(name string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(f.Get(name), 10, 64); err == nil && !h.deaf {
			return n
		}
		return otherwise
	}
	from, to := number("from", 0), number("to", 1<<60)
	var rows []any
	for i, s := range h.seconds {
		if s > from && (s < to || s == to && h.inclusive) {
			rows = append(rows, map[string]any{
				"artist": map[string]any{"#text": "A"}, "name": fmt.Sprintf("m%d", i),
				"date": map[string]any{"uts": fmt.Sprint(s)},
			})
		}
	}
	page, _ := strconv.Atoi(f.Get("page"))
	total := len(rows)
	rows = rows[min((page-1)*h.most, total):min(page*h.most, total)]
	if h.playing {
		now := map[string]any{
			"artist": map[string]any{"#text": "A"}, "name": "now", "@attr": map[string]any{"nowplaying": "true"},
		}
		rows = append([]any{now}, rows...)
	}
	var track any = rows
	if len(rows) == 1 {
		track = rows[0]
	} else if rows == nil {
		track = []any{}
	}
	body, _ := json.Marshal(map[string]any{"recenttracks": map[string]any{"track": track,
		"@attr": map[string]any{
			"page": fmt.Sprint(page), "total": fmt.Sprint(total),
			"totalPages": fmt.Sprint((total + h.most - 1) / h.most),
		}}})
	return 200, nil, string(body)
}

// names returns the titles of all plays in the history.
func (h *history) names() (names []string) {
	for i := range h.seconds {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	return names
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
	const day = 86400
	late := append(span(10*day, 2), 10*day-100) // the last was played before the known ones and sent late
	tests := []struct {
		name    string
		history history
		span    library.Span
		missing int // plays at the end of names that are not read
		skipped int // plays at the start of names that are not read
		asked   []string
	}{
		{"nothing", history{most: 3}, library.Span{}, 0, 0, []string{"-/1"}},
		{"one play", history{seconds: span(1000, 1), most: 3}, library.Span{}, 0, 0, []string{"-/1"}},
		{"one page", history{seconds: span(1000, 3), most: 3}, library.Span{}, 0, 0, []string{"-/1"}},
		{"three pages", history{seconds: span(1000, 7), most: 3}, library.Span{}, 0, 0,
			[]string{"-/1", "-999/1", "-997/1"}},
		{"while something plays", history{seconds: span(1000, 7), most: 3, playing: true}, library.Span{}, 0, 0,
			[]string{"-/1", "-999/1", "-997/1"}},
		{"to is included", history{seconds: span(1000, 7), most: 3, inclusive: true}, library.Span{}, 0, 0, nil},
		{"to is ignored", history{seconds: span(1000, 7), most: 3, deaf: true}, library.Span{}, 0, 0,
			[]string{"-/1", "-999/1", "-999/2", "-996/3"}},
		{"a second across the border", history{seconds: []int64{9, 8, 7, 7, 7, 5}, most: 4}, library.Span{}, 0, 0,
			[]string{"-/1", "-8/1"}},
		{"a second that fills a page", history{seconds: []int64{9, 7, 7, 7, 7, 7, 5, 4}, most: 3},
			library.Span{}, 0, 0, []string{"-/1", "-8/1", "-8/2", "-6/1"}},
		{"nothing but one second", history{seconds: []int64{7, 7, 7, 7, 7, 7, 7}, most: 3}, library.Span{}, 0, 0,
			[]string{"-/1", "-8/1", "-8/2", "-8/3"}},
		{"back to known plays", history{seconds: span(10*day, 9), most: 3},
			library.Span{After: unix(10*day - 4)}, 4, 0, []string{"777596-/1", "777596-863999/1"}},
		{"nothing new", history{seconds: span(10*day, 9), most: 3}, library.Span{After: unix(10 * day)}, 6, 0,
			[]string{"777600-/1"}},
		{"nothing for days", history{seconds: span(5*day, 9), most: 3}, library.Span{After: unix(10 * day)}, 9, 0,
			[]string{"777600-/1"}},
		{"sent late", history{seconds: late, most: 3}, library.Span{After: unix(10 * day)}, 0, 0,
			[]string{"777600-/1"}},
		{"resumed", history{seconds: []int64{9, 8, 7, 7, 7, 5}, most: 4}, library.Span{Before: unix(7)}, 0, 2,
			[]string{"-8/1"}},
		{"resumed at a second's end", history{seconds: []int64{9, 8, 7, 7, 7, 5}, most: 4},
			library.Span{Before: unix(7).Add(time.Millisecond)}, 0, 2, []string{"-8/1"}},
		{"resumed, to is ignored", history{seconds: span(1000, 7), most: 3, deaf: true},
			library.Span{Before: unix(996)}, 0, 4, []string{"-997/1", "-997/2", "-996/3"}},
		{"resumed in a gap", history{seconds: span(10*day, 9), most: 3},
			library.Span{After: unix(10*day - 4), Before: unix(10*day - 1)}, 3, 1,
			[]string{"777596-864000/1", "777596-863998/1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, &tt.history, tt.span)
			all := tt.history.names()
			require.Equal(t, append([]string(nil), all[tt.skipped:len(all)-tt.missing]...), got)
			if tt.asked != nil {
				require.Equal(t, tt.asked, tt.history.asked)
			}
		})
	}
}

// read walks h to the end and returns its plays in order. It also checks that a run can resume after every page.
func read(t *testing.T, h *history, span library.Span) (names []string) {
	t.Helper()
	pages, err := collect(open(h.respond).Listens(t.Context(), span))
	require.NoError(t, err)
	for _, p := range pages {
		for _, l := range p.Listens {
			require.NotContains(t, names, l.Title)
			names = append(names, l.Title)
		}
	}
	for n, p := range pages {
		have := map[string]bool{}
		for _, done := range pages[:n+1] {
			for _, l := range done.Listens {
				have[l.Title] = true
			}
		}
		again := &history{seconds: h.seconds, most: h.most, deaf: h.deaf, inclusive: h.inclusive}
		rest, err := collect(open(again.respond).Listens(t.Context(),
			library.Span{After: span.After, Before: p.Oldest.Add(time.Millisecond)}))
		require.NoError(t, err)
		for _, p := range rest {
			for _, l := range p.Listens {
				have[l.Title] = true
			}
		}
		for _, name := range names {
			require.True(t, have[name], "%s is not read by a run that resumes after page %d", name, n+1)
		}
	}
	return names
}

// TestPlaysThatComeInDuringTheWalk adds plays between pages, which shifts older ones to later pages. None is missed.
func TestPlaysThatComeInDuringTheWalk(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		h := &history{seconds: span(1000, 20), most: 3, deaf: deaf}
		got := map[int64]bool{}
		newest := int64(2000)
		for page, err := range open(h.respond).Listens(t.Context(), library.Span{}) {
			require.NoError(t, err)
			require.Equal(t, 20, page.Total, "the total of the first answer")
			for _, l := range page.Listens {
				got[l.PlayedAt.Unix()] = true
			}
			newest++
			h.seconds = append([]int64{newest}, h.seconds...)
		}
		for _, s := range span(1000, 20) {
			require.True(t, got[s], "deaf %v: the play at %d was passed over", deaf, s)
		}
	}
}

func TestAServerThatRepeatsItsPages(t *testing.T) {
	t.Parallel()
	h := &history{seconds: span(1000, 3), most: 3, deaf: true}
	asked := 0
	_, err := collect(open(func(r *http.Request) (int, http.Header, string) {
		asked++
		_, _, body := h.respond(r)
		var answer map[string]any
		_ = json.Unmarshal([]byte(body), &answer)
		answer["recenttracks"].(map[string]any)["@attr"] = map[string]any{"totalPages": "1000000"}
		answer["recenttracks"].(map[string]any)["track"] = []any{
			map[string]any{"artist": "A", "name": "m", "date": map[string]any{"uts": "1000"}}}
		text, _ := json.Marshal(answer)
		return 200, nil, string(text)
	}).Listens(t.Context(), library.Span{}))
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category)
	require.LessOrEqual(t, asked, 4)
}

func TestCancellationDuringTheWalk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &history{seconds: span(1000, 20), most: 3}
		pages, err := collect(open(func(r *http.Request) (int, http.Header, string) {
			if len(h.asked) == 2 {
				cancel()
			}
			return h.respond(r)
		}).Listens(ctx, library.Span{}))
		require.Equal(t, resilience.Canceled, resilience.VerdictOf(err).Class)
		require.NotEmpty(t, pages)
	})
}
