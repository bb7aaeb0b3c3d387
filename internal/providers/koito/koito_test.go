package koito

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

const key = "a-key-of-geoff"

var (
	geoff  = library.Credentials{"url": "https://koito.example.org", "token": key}
	newest = time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)
)

// far is a Koito with n listens, one each minute, the latest at newest.
func far(n int) providertest.Respond { return koito(n, "from", "to") }

// koito is far in a version that knows these bounds of a time.
func koito(n int, bounds ...string) providertest.Respond {
	type object = map[string]any
	return func(r *http.Request) (int, http.Header, string) {
		if r.Header.Get("Authorization") != "Token "+key {
			return http.StatusUnauthorized, nil, `{"code":401,"error":"Incorrect Authorization"}`
		}
		switch r.URL.Path {
		case "/apis/listenbrainz/1/validate-token":
			return http.StatusOK, nil, `{"code":200,"message":"Token valid.","valid":true,"user_name":"geoff"}`
		case "/apis/listenbrainz/1/submit-listens":
			return http.StatusOK, nil, `{"status":"ok"}`
		case listensRoute:
			number, _ := strconv.Atoi(r.URL.Query().Get("page"))
			most, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			bound := func(name string, none int64) int64 {
				at, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
				if err != nil || at == 0 || !slices.Contains(bounds, name) {
					return none
				}
				return at
			}
			from, to, all, items := bound("from", 0), bound("to", math.MaxInt64), []int{}, []object{}
			for i := range n {
				if at := newest.Unix() - 60*int64(i); at >= from && at <= to {
					all = append(all, i)
				}
			}
			for _, i := range all[min((number-1)*most, len(all)):min(number*most, len(all))] {
				items = append(items, object{"time": newest.Add(-time.Duration(i) * time.Minute), "track": object{
					"id": n - i, "title": "Song " + strconv.Itoa(n-i), "image": nil,
					"artists": []object{{"id": 1, "name": "Björk"}, {"id": 2, "name": "Arca"}}}})
			}
			body, _ := json.Marshal(object{"items": items, "total_record_count": len(all), "items_per_page": most,
				"has_next_page": number*most < len(all), "current_page": number})
			return http.StatusOK, nil, string(body)
		}
		return http.StatusNotFound, nil, `404 page not found`
	}
}

func at(far providertest.Respond, cred library.Credentials) *adapter {
	return providertest.New(Describe()).Open(providertest.Call(far), cred).(*adapter)
}

// meaning returns what the error table says of a status of a call.
func meaning(table int, status int, code string) resilience.Meaning {
	for _, row := range Describe().Tables.Of[table].Table {
		if (row.Status == 0 || row.Status == status) && row.Code == code {
			return row.Meaning
		}
	}
	panic("no such row")
}

func TestConformance(t *testing.T) {
	t.Parallel()
	gone := meaning(0, 404, "no_such_route")
	reading := map[int]resilience.Meaning{401: meaning(0, 401, ""), 404: gone, 405: gone, 501: gone}
	sending := map[int]resilience.Meaning{401: meaning(0, 401, ""), 404: gone, 405: gone, 501: gone}
	for _, status := range []int{400, 409, 410, 422} {
		sending[status] = meaning(1, status, "")
	}
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(Describe()), Credentials: geoff,
		Prove:   providertest.Capability{Healthy: far(3), Statuses: reading},
		Listens: providertest.Capability{Healthy: far(3), Statuses: reading},
		Submit:  providertest.Capability{Healthy: far(0), Statuses: sending},
	})
}

func TestDescription(t *testing.T) {
	t.Parallel()
	providertest.Describes(t, Describe())
}

func TestAWholeHistoryIsRead(t *testing.T) {
	t.Parallel()
	a, total := at(far(1201), geoff), 0
	seen := map[string]bool{}
	for page, err := range a.Listens(t.Context(), library.Span{}) {
		require.NoError(t, err)
		total = page.Total
		for _, l := range page.Listens {
			seen[l.SourceID] = true
		}
	}
	require.Equal(t, 1201, total)
	require.Len(t, seen, 1201)
}

func TestAListenIsAsKoitoHasIt(t *testing.T) {
	t.Parallel()
	for page, err := range at(far(7), geoff).Listens(t.Context(), library.Span{After: newest.Add(-time.Minute)}) {
		require.NoError(t, err)
		require.Equal(t, library.Listen{SourceID: "1795208400:7", PlayedAt: newest, Track: library.Track{
			Title: "Song 7", Artist: "Björk, Arca", SourceID: "7",
			Artists: []library.Credit{{Name: "Björk"}, {Name: "Arca"}}}}, page.Listens[0])
	}
}

// TestOnlyTheGapIsRead checks that a part of the history has no later plays.
func TestOnlyTheGapIsRead(t *testing.T) {
	t.Parallel()
	span := library.Span{After: newest.Add(-600 * time.Minute), Before: newest.Add(-550 * time.Minute)}
	for about, far := range map[string]providertest.Respond{"bounds": far(2000), "no bounds": koito(2000)} {
		pages, within := 0, 0
		for page, err := range at(far, geoff).Listens(t.Context(), span) {
			require.NoError(t, err)
			for _, l := range page.Listens {
				require.False(t, l.PlayedAt.After(span.Before))
				if !l.PlayedAt.Before(span.After) {
					within++
				}
			}
			pages++
		}
		require.Equal(t, 1, pages, "with %s: pages of later plays only are none", about)
		require.Equal(t, 51, within)
	}
}

// TestATimeIsCounted checks that a version which doesn't keep to the bounds of a time isn't believed.
func TestATimeIsCounted(t *testing.T) {
	t.Parallel()
	from, before := newest.Add(-600*time.Minute), newest.Add(-550*time.Minute)
	n, err := at(far(2000), geoff).CountBetween(t.Context(), from, before)
	require.NoError(t, err)
	require.Equal(t, 50, n)
	n, err = at(far(2000), geoff).CountBetween(t.Context(), from.AddDate(-1, 0, 0), before.AddDate(-1, 0, 0))
	require.NoError(t, err)
	require.Zero(t, n)
	for _, bounds := range [][]string{nil, {"from"}, {"to"}} {
		for _, until := range []time.Time{before, newest.Add(time.Hour)} {
			if slices.Contains(bounds, "from") && until.After(newest) {
				continue // what it ignores makes no difference
			}
			_, err = at(koito(2000, bounds...), geoff).CountBetween(t.Context(), from, until)
			require.ErrorIs(t, err, providers.ErrNotOffered, "%s, until %s", bounds, until)
		}
	}
	n, err = at(koito(0), geoff).CountBetween(t.Context(), from, before)
	require.NoError(t, err)
	require.Zero(t, n)
}

// TestAnEmptyPageIsTheEnd checks that a server which always has a next page is not asked for ever.
func TestAnEmptyPageIsTheEnd(t *testing.T) {
	t.Parallel()
	for range at(providertest.Always(200, `{"items":[],"total_record_count":5,"has_next_page":true}`), geoff).
		Listens(t.Context(), library.Span{}) {
		t.Fatal("a page, or an error")
	}
}

func TestAnAddressMayBeThatOfAnAPI(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"koito.example.org", "https://koito.example.org/",
		"https://koito.example.org/apis/listenbrainz/1/submit-listens", "koito.example.org/apis/web/v1"} {
		account, err := at(far(1), library.Credentials{"url": typed, "token": " " + key}).Prove(t.Context())
		require.NoError(t, err, typed)
		require.Equal(t, providers.Account{ID: "koito.example.org#geoff", Name: "geoff",
			Learned: library.Credentials{"url": "https://koito.example.org"}}, account, typed)
	}
}

func TestAnotherServerAtTheAddress(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>nothing here</html>", "404 page not found"} {
		_, err := at(providertest.Always(404, body), geoff).Prove(t.Context())
		var refused *resilience.AnswerError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "There's no Koito at this address.", refused.Advice().String())
	}
}
