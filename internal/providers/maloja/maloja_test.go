package maloja

import (
	"encoding/json"
	"net/http"
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
	geoff  = library.Credentials{"url": "https://maloja.example.org", "token": key}
	newest = time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)
)

// far is a Maloja with n listens, one each minute, the latest at newest, whose days are those of a zone.
func far(n int) providertest.Respond { return maloja(n, time.FixedZone("", 2*60*60)) }

// maloja is far; without a zone it knows no bounds of a time.
func maloja(n int, zone *time.Location) providertest.Respond {
	within := func(r *http.Request) (all []int64) {
		q := r.URL.Query()
		for i := range n {
			at := newest.Unix() - 60*int64(i)
			day := ""
			if zone != nil {
				day = time.Unix(at, 0).In(zone).Format(dayLayout)
			}
			if day == "" || (!q.Has("in") || q.Get("in") == day) && (!q.Has("from") || q.Get("from") <= day) &&
				(!q.Has("to") || q.Get("to") >= day) {
				all = append(all, at)
			}
		}
		return all
	}
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
		case countRoute:
			return http.StatusOK, nil, `{"status":"ok","amount":` + strconv.Itoa(len(within(r))) + `}`
		case scrobblesRoute:
			number, _ := strconv.Atoi(r.URL.Query().Get("page"))
			most, _ := strconv.Atoi(r.URL.Query().Get("perpage"))
			list, all := []object{}, within(r)
			for _, at := range all[min(number*most, len(all)):min((number+1)*most, len(all))] {
				i := int(newest.Unix()-at) / 60
				list = append(list, object{"time": at, "duration": nil,
					"origin": "client:Kitchen", "track": object{"title": "Song " + strconv.Itoa(n-i), "length": 200,
						"artists": []string{"Björk", "Arca"}, "album": object{"albumtitle": "Fossora"}}})
			}
			body, _ := json.Marshal(object{"status": "ok", "list": list})
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
	a, total := at(far(2401), geoff), 0
	seen := map[string]bool{}
	for page, err := range a.Listens(t.Context(), library.Span{}) {
		require.NoError(t, err)
		total = page.Total
		for _, l := range page.Listens {
			seen[l.SourceID] = true
		}
	}
	require.Equal(t, 2401, total)
	require.Len(t, seen, 2401)
}

func TestAScrobbleIsAsMalojaHasIt(t *testing.T) {
	t.Parallel()
	for page, err := range at(far(7), geoff).Listens(t.Context(), library.Span{After: newest.Add(-time.Minute)}) {
		require.NoError(t, err)
		require.Equal(t, library.Listen{SourceID: "1795208400", PlayedAt: newest, Player: "Kitchen",
			Track: library.Track{Title: "Song 7", Artist: "Björk, Arca", Album: "Fossora", Duration: 200 * time.Second,
				Artists: []library.Credit{{Name: "Björk"}, {Name: "Arca"}}}}, page.Listens[0])
	}
}

// TestOnlyTheGapIsRead checks that a part of the history has no later plays.
func TestOnlyTheGapIsRead(t *testing.T) {
	t.Parallel()
	for about, zone := range map[string]*time.Location{"no bounds": nil, "UTC": time.UTC,
		"Kiritimati": time.FixedZone("", 14*60*60), "Baker Island": time.FixedZone("", -12*60*60)} {
		for _, ago := range []time.Duration{0, 12 * 24 * time.Hour} {
			span := library.Span{After: newest.Add(-1100 * time.Minute).Add(-ago),
				Before: newest.Add(-1050 * time.Minute).Add(-ago)}
			within := 0
			for page, err := range at(maloja(30_000, zone), geoff).Listens(t.Context(), span) {
				require.NoError(t, err)
				for _, l := range page.Listens {
					require.False(t, l.PlayedAt.After(span.Before))
					if !l.PlayedAt.Before(span.After) {
						within++
					}
				}
			}
			require.Equal(t, 51, within, about)
		}
	}
}

// TestOnlyReadingTells checks that a Maloja without bounds isn't believed, and that one with them is read, as its days
// begin nobody knows when.
func TestOnlyReadingTells(t *testing.T) {
	t.Parallel()
	n, err := at(far(30), geoff).CountBetween(t.Context(), newest.AddDate(0, -1, 0), newest)
	require.NoError(t, err)
	require.Equal(t, -1, n)
	_, err = at(maloja(30, nil), geoff).CountBetween(t.Context(), newest.AddDate(0, -1, 0), newest)
	require.ErrorIs(t, err, providers.ErrNotOffered)
}

func TestAnAddressMayBeThatOfAnAPI(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"maloja.example.org", "https://maloja.example.org/",
		"https://maloja.example.org/apis/listenbrainz/1/submit-listens", "maloja.example.org/apis/mlj_1/newscrobble"} {
		account, err := at(far(1), library.Credentials{"url": typed, "token": " " + key}).Prove(t.Context())
		require.NoError(t, err, typed)
		require.Equal(t, providers.Account{ID: "maloja.example.org#geoff", Name: "geoff",
			Learned: library.Credentials{"url": "https://maloja.example.org"}}, account, typed)
	}
}

func TestAnotherServerAtTheAddress(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>nothing here</html>", "404 page not found"} {
		_, err := at(providertest.Always(404, body), geoff).Prove(t.Context())
		var refused *resilience.AnswerError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "There's no Maloja at this address.", refused.Advice().String())
	}
}
