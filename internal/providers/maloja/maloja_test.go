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

// far is a Maloja with n listens, one each minute, the latest at newest.
func far(n int) providertest.Respond {
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
			return http.StatusOK, nil, `{"status":"ok","amount":` + strconv.Itoa(n) + `}`
		case scrobblesRoute:
			number, _ := strconv.Atoi(r.URL.Query().Get("page"))
			most, _ := strconv.Atoi(r.URL.Query().Get("perpage"))
			list := []object{}
			for i := number * most; i < min((number+1)*most, n); i++ {
				list = append(list, object{"time": newest.Unix() - 60*int64(i), "duration": nil,
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
	span := library.Span{After: newest.Add(-1100 * time.Minute), Before: newest.Add(-1050 * time.Minute)}
	pages := 0
	for page, err := range at(far(3000), geoff).Listens(t.Context(), span) {
		require.NoError(t, err)
		require.False(t, page.Listens[0].PlayedAt.After(span.Before))
		pages++
	}
	require.Equal(t, 1, pages, "the first page has later plays only, and the third is not asked for")
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
