package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/promtest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/store"
)

// scrapeText returns the text of /metrics.
func (a *app) scrapeText(t testing.TB) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.server.Metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

func (a *app) scrape(t testing.TB) promtest.Series {
	t.Helper()
	return promtest.Parse(t, a.scrapeText(t))
}

// crowd creates people who have connected every provider, each with a Navidrome of their own.
func crowd(t testing.TB, a *app, people int) {
	t.Helper()
	var all []string
	for _, p := range a.registry.All() {
		all = append(all, p.Name)
	}
	connect(t, a, people, all...)
}

// connect creates people who have connected these providers.
func connect(t testing.TB, a *app, people int, to ...string) {
	t.Helper()
	for n := range people {
		u, err := a.store.AddUser(context.Background(), accounts.User{Name: fmt.Sprintf("Person %d", n),
			PasswordHash: "-", Role: accounts.Member, CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		connectOne(t, a, u.ID, n, to...)
	}
}

// connectOne connects a person, who is the nth, with these providers.
func connectOne(t testing.TB, a *app, user int64, n int, to ...string) {
	t.Helper()
	ctx := context.Background()
	now := time.Now()
	for _, name := range to {
		p := a.registry.Get(name)
		c := library.Connection{User: user, ID: library.ConnectionID(p.Name),
			AccountID: fmt.Sprint(n), Account: fmt.Sprint(n), CreatedAt: now, AuthorizedAt: now,
			ExpiresAt: now.Add(24 * time.Hour), Credentials: library.Credentials{"url": fmt.Sprintf(
				"http://music-%d.example.org", n), "token": "t"}}
		if name != "navidrome" {
			c.Credentials = library.Credentials{"token": "t", "user": fmt.Sprint("person", n)}
		}
		_, err := a.store.SaveConnection(ctx, c)
		require.NoError(t, err)
		for _, stream := range p.Streams {
			require.NoError(t, a.store.SaveSuccess(ctx, user, c.ID, stream, now))
		}
	}
}

// wired returns the program on a database of the test, with nothing running and no upstream in reach.
func wired(t testing.TB) *app {
	t.Helper()
	return wiredWith(t, nowhere{}, map[string]string{
		"providers.youtube.keys": "AIzaSy-the-first-key-of-the-test,AIzaSy-the-second-key-of-the-test"})
}

// wiredWith is wired with these upstreams and settings.
func wiredWith(t testing.TB, upstreams http.RoundTripper, settings map[string]string) *app {
	t.Helper()
	settings["data_dir"], settings["contact"] = inMemory(t), "test@example.org"
	c, err := config.Load("", nil, settings, registry.Descriptions())
	require.NoError(t, err)
	db, err := dataDir(c).Open(context.Background(), storeOptions(c))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	a, err := wire(context.Background(), c, db, upstreams, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return a
}

// nowhere answers every call as a server that is down.
type nowhere struct{}

func (nowhere) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody,
		Request: req}, nil
}

func TestTheNumberOfSeriesDoesNotGrowWithPeople(t *testing.T) {
	takesLong(t)
	t.Parallel()
	a := wired(t)
	before := a.scrape(t)
	people := 1000
	if raceEnabled {
		people = 100 // the store is slow then, and the count is the same
	}
	crowd(t, a, people)
	ctx := context.Background()
	client := a.client
	// People's own servers fail until their breakers open, and endpoints are called that no adapter lists.
	for n := range 200 {
		for range 6 {
			for _, call := range [][2]string{{fmt.Sprintf("http://music-%d.example.org/rest/ping", n),
				"GET /rest/ping"}, {"https://api.spotify.com/v9/odd", fmt.Sprintf("GET /v9/odd%d", n)}} {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, call[0], nil)
				require.NoError(t, err)
				made := resilience.Call{Client: client, User: int64(n),
					Provider: []string{"navidrome", "spotify"}[n%2]}
				_, err = made.Send(req, resilience.Endpoint{Name: call[1]})
				require.Error(t, err)
			}
		}
	}
	after := a.scrape(t)
	require.Equal(t, float64(people), after[`connections{provider="navidrome",state="healthy"}`])
	require.Greater(t, after.Sum("breaker_transitions_total", `endpoint="GET navidrome/rest/ping"`, `to="open"`), 50.0)
	require.Greater(t, after.Sum("upstream_attempts_total", `endpoint="other"`), 100.0)
	for key := range after {
		require.Contains(t, before, key)
	}
	require.Len(t, after, len(before))
	t.Logf("%d series for %d people", len(after), people)
}

// BenchmarkScrape reads /metrics with 1,000 and 10,000 connections and 10,000 deliveries, half of them parked. It
// should take less than 50 ms.
func BenchmarkScrape(b *testing.B) {
	for _, connections := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) {
			a := wired(b)
			crowd(b, a, connections/len(a.registry.All())+1)
			owe(b, a.store, 0, 5_000)
			require.NoError(b, a.store.Park(context.Background(), delivery.Send{User: 1, Connection: "lastfm"}))
			owe(b, a.store, 5_000, 10_000)
			text := a.scrapeText(b)
			require.Equal(b, 5_000.0, promtest.Parse(b, text)[`deliveries{state="parked"}`])
			require.Equal(b, 5_000.0, promtest.Parse(b, text)[`deliveries{state="scheduled"}`])
			b.ReportMetric(float64(strings.Count(text, "\nreprise_")), "series")
			before := cpu()
			for b.Loop() {
				a.scrapeText(b)
			}
			b.ReportMetric((cpu()-before)/1000/float64(b.N), "cpu-ms")
		})
	}
}

// owe stores listens of one person, each with a delivery.
func owe(t testing.TB, db *store.Store, from, to int) {
	t.Helper()
	ctx := context.Background()
	_, err := db.StartForwarding(ctx, delivery.Rule{User: 1, Connection: "lastfm", Kind: delivery.Scrobble, Batch: 1},
		false)
	require.NoError(t, err)
	c, err := db.Connection(ctx, 1, "listenbrainz")
	require.NoError(t, err)
	begin := time.Now().Add(-24 * time.Hour)
	for first := from; first < to; first += 1000 {
		listens := make([]library.Listen, 1000)
		for i := range listens {
			n := first + i
			listens[i] = library.Listen{SourceID: fmt.Sprint(n),
				PlayedAt: begin.Add(time.Duration(n) * 5 * time.Second),
				Track:    library.Track{Title: fmt.Sprintf("Song %d", n), Artist: "Somebody"}}
		}
		_, err := db.SaveListens(ctx, library.Intake{User: 1, Connection: "listenbrainz", Generation: c.Generation,
			Listens: listens})
		require.NoError(t, err)
	}
}
