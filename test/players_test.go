package test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// TestListensAreFilteredByPlayer compares every way of filtering with what the simulated ListenBrainz has.
func TestListensAreFilteredByPlayer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 300})
	v := start(t, t.TempDir(), worldEnv(w)...).newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")

	there := playersAtListenBrainz(t, w)
	require.NotZero(t, there["Feishin"], "what is played depends on the day")
	require.NotZero(t, there["navidrome"])
	require.NotZero(t, there[""])
	for name, n := range there {
		filter := url.Values{"player": {name}}.Encode()
		if name == "" {
			continue
		}
		v.eventually("all listens", func() bool {
			totals := v.call("GET", "/stats/summary?span=all&"+filter, nil, 200)["totals"].(object)
			return totals["listens"] == float64(n)
		})
		listed := v.call("GET", "/listens?limit=1000&"+filter, nil, 200)["listens"].([]any)
		require.Len(t, listed, n)
		for _, l := range listed {
			require.Equal(t, name, l.(object)["sources"].([]any)[0].(object)["player"])
		}
		one := listed[0].(object)["id"].(string)
		require.Contains(t, v.page("/listens/"+one, 200), `Played with <a href="/listens?player=`+name+`">`+name)
	}
	require.Len(t, v.call("GET", "/stats/summary?span=all", nil, 200)["players"], len(there)-1)
	require.Empty(t, v.call("GET", "/listens?player=VLC", nil, 200)["listens"])
	require.Contains(t, v.page("/listens?player=VLC", 200), "No listens match these filters.")
}

// playersAtListenBrainz counts Alice's listens there by player; without one under the empty name.
func playersAtListenBrainz(t *testing.T, w *demo.World) map[string]int {
	t.Helper()
	resp, err := http.Get(w.ListenBrainz.URL + "/1/user/alice/listens?count=1000")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var answer struct {
		Payload struct {
			Listens []struct {
				Metadata struct {
					Info struct {
						Player string `json:"media_player"`
						Client string `json:"submission_client"`
					} `json:"additional_info"`
				} `json:"track_metadata"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	players := map[string]int{}
	for _, l := range answer.Payload.Listens {
		switch info := l.Metadata.Info; {
		case info.Player != "":
			players[info.Player]++
		case info.Client != "listenbrainz":
			players[info.Client]++
		default:
			players[""]++
		}
	}
	return players
}
