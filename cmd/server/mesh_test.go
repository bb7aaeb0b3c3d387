package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/server"
)

// scrobbled is a play at a server of somebody's own.
type scrobbled struct {
	at            int64 // Unix seconds
	artist, title string
}

// ownServer stands in for a Koito, a Maloja and a ListenBrainz: it takes plays by the API that all three share, and
// gives them back by the API that each has of its own.
type ownServer struct {
	mu      sync.Mutex
	plays   []scrobbled // the newest first
	arrived map[scrobbled]int
}

func (o *ownServer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	o.mu.Lock()
	defer o.mu.Unlock()
	type object = map[string]any
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	page := func(first, size int) (from, to int) {
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		n -= first
		return min(n*size, len(o.plays)), min((n+1)*size, len(o.plays))
	}
	rows := []object{}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/1/validate-token"):
		answer(object{"valid": true, "user_name": "alice"})
	case strings.HasSuffix(path, "/1/submit-listens"):
		var in struct {
			Type    string `json:"listen_type"`
			Payload []struct {
				At       int64 `json:"listened_at"`
				Metadata struct {
					Artist string `json:"artist_name"`
					Title  string `json:"track_name"`
				} `json:"track_metadata"`
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		for _, p := range in.Payload {
			s := scrobbled{p.At, p.Metadata.Artist, p.Metadata.Title}
			if in.Type == "playing_now" {
				continue
			}
			if o.arrived[s]++; o.arrived[s] == 1 {
				o.plays = append([]scrobbled{s}, o.plays...)
			}
		}
		answer(object{"status": "ok"})
	case path == "/apis/web/v1/listens":
		from, to := page(1, 500)
		for i, p := range o.plays[from:to] {
			rows = append(rows, object{"time": time.Unix(p.at, 0).UTC(), "track": object{"id": len(o.plays) - from - i,
				"title": p.title, "artists": []object{{"name": p.artist}}}})
		}
		answer(object{"items": rows, "total_record_count": len(o.plays), "has_next_page": to < len(o.plays)})
	case path == "/apis/mlj_1/scrobbles":
		from, to := page(0, 1000)
		for _, p := range o.plays[from:to] {
			rows = append(rows, object{"time": p.at, "track": object{"title": p.title, "artists": []string{p.artist}}})
		}
		answer(object{"status": "ok", "list": rows})
	case path == "/apis/mlj_1/numscrobbles":
		answer(object{"status": "ok", "amount": len(o.plays)})
	case path == "/1/user/alice/listens":
		last, err := strconv.ParseInt(r.URL.Query().Get("max_ts"), 10, 64)
		for _, p := range o.plays {
			if (err != nil || p.at < last) && len(rows) < 100 {
				rows = append(rows, object{"listened_at": p.at, "track_metadata": object{"artist_name": p.artist,
					"track_name": p.title}})
			}
		}
		answer(object{"payload": object{"listens": rows}})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// For a day, music plays in two Navidromes and a kitchen radio. Reprise reads one of the Navidromes, and it both sends
// to and reads a Koito, a Maloja and a ListenBrainz. Every play has to arrive at each of these three.
//
// Promise: Between servers that are read, push and are sent to, no play goes in circles.
func TestADayBetweenManyServers(t *testing.T) {
	settings := map[string]string{"sync.listens_every": "10m"}
	inBubbleWith(t, demo.Options{Plays: 5}, settings, func(t *testing.T, i *installation) {
		ctx := context.Background()
		i.people(1)
		user := i.users[0]
		i.also = map[string]*ownServer{}
		for id, host := range map[library.ConnectionID]string{"koito": "koito.example.org",
			"maloja": "maloja.example.org", "listenbrainz-2": "listens.example.org"} {
			i.also[host] = &ownServer{arrived: map[scrobbled]int{}}
			_, err := i.connections.Connect(ctx, i.registry.Get(id.Provider()), library.Connection{User: user, ID: id,
				Credentials: library.Credentials{"url": "https://" + host, "token": "of-alice"}})
			require.NoError(t, err)
			_, err = i.deliveries.Forward(ctx, user, id, false)
			require.NoError(t, err)
		}
		_, err := i.deliveries.Forward(ctx, user, "navidrome", false)
		require.NoError(t, err)
		carry := func() { // River has timers of a few seconds, which are slow in a test of a whole day
			ctx, stop := context.WithCancel(ctx)
			var running sync.WaitGroup
			running.Go(func() { _ = i.deliveries.Run(ctx) })
			for range 20 {
				i.settle()
			}
			stop()
			running.Wait()
		}

		web := i.server
		web.Reach = server.Reach{BaseURL: "http://127.0.0.1:8420"}
		door, err := server.New(web)
		require.NoError(t, err)
		secrets := map[string]string{}
		for _, p := range []players.Player{{Name: "Navidrome"}, {Name: "Cabin", Mirrors: players.MirrorsNone},
			{Name: "Kitchen"}} {
			p.User, p.Kind = user, players.ListenBrainz
			secrets[p.Name] = strings.Repeat(strings.ToLower(p.Name[:1]), 48)
			_, err := i.store.AddPlayer(ctx, p, secrets[p.Name], 10)
			require.NoError(t, err)
		}
		push := func(player, client string, s scrobbled) {
			body := fmt.Sprintf(`{"listen_type":"single","payload":[{"listened_at":%d,"track_metadata":{
				"artist_name":%q,"track_name":%q,"additional_info":{"submission_client":%q,"duration_ms":200000}}}]}`,
				s.at, s.artist, s.title, client)
			r := httptest.NewRequest(http.MethodPost, "/1/submit-listens", strings.NewReader(body))
			r.Header.Set("Authorization", "Token "+secrets[player])
			w := httptest.NewRecorder()
			door.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
		}

		before, err := i.store.CountListens(ctx, user)
		require.NoError(t, err)
		var all []scrobbled
		for n := range 24 * 6 { // one in ten minutes
			time.Sleep(10 * time.Minute)
			s := scrobbled{time.Now().Add(-4 * time.Minute).Unix(), "Sigur Rós", fmt.Sprint("Untitled ", n+1)}
			all = append(all, s)
			switch n % 3 {
			case 0: // Navidrome counts it itself, is read, and pushes it
				i.world.Hear(demo.Navidrome, demo.Alice, demo.Song{Artist: s.artist, Title: s.title,
					Duration: 200 * time.Second}, time.Unix(s.at, 0))
				push("Navidrome", "navidrome", s)
			case 1: // another Navidrome, which only pushes, twice
				push("Cabin", "navidrome", s)
				push("Cabin", "navidrome", s)
			case 2:
				push("Kitchen", "mpdscribble", s)
			}
			if n%6 == 5 {
				carry()
			}
		}
		time.Sleep(time.Hour)
		carry()

		after, err := i.store.CountListens(ctx, user)
		require.NoError(t, err)
		require.Equal(t, len(all), after-before, "each play is one listen")
		for host, o := range i.also {
			o.mu.Lock()
			require.Len(t, o.plays, len(all), host)
			for _, s := range all {
				require.Equal(t, 1, o.arrived[s], "%s: %s", host, s.title)
			}
			o.mu.Unlock()
		}
		for _, c := range i.world.Calls(demo.Navidrome) {
			require.NotContains(t, c.Path, "scrobble", "its own plays don't go back, and the others it doesn't have")
		}
		waiting, err := i.store.Backlog(ctx)
		require.NoError(t, err)
		require.Zero(t, waiting)
	})
}
