package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/asks"
	"reprise/internal/config"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/observe"
	"reprise/internal/playrules"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server"
	"reprise/internal/weekly"
	"reprise/internal/words"
)

// town is an installation of 5,000 people with two connections each, one of them to a server of their own.
type town struct {
	*living
	member int64
}

const inTown = 5_000

func newTown(b *testing.B) *town {
	b.Helper()
	v := &town{living: &living{t: b}}
	v.wire(nowhere{})
	connectOne(b, v.app, v.user, 0, "listenbrainz", "lastfm", "navidrome")
	connect(b, v.app, inTown-1, "listenbrainz", "navidrome")
	people, err := v.app.store.Users(b.Context())
	require.NoError(b, err)
	v.member = people[1].ID
	for n, u := range people {
		v.person(u, n)
	}
	owe(b, v.app.store, 0, 1_000)
	v.breakers()
	v.counted()
	require.NoError(b, v.app.store.Index(b.Context()))
	require.NoError(b, v.app.store.BuildColumns(b.Context()))
	return v
}

// person gives somebody a past: listens, runs and activity, and some of them an alert, or something to ask for.
func (v *town) person(u accounts.User, n int) {
	t, db, now := v.t, v.app.store, time.Now()
	ctx := activity.WithActor(t.Context(), activity.Actor{ID: u.ID, Name: u.Name})
	plays, runs := 20, 4
	if u.ID == v.user || u.ID == v.member {
		plays, runs = 20_000, 576 // two days of runs
	}
	for first := 0; first < plays; first += 1000 {
		page := make([]library.Listen, min(plays, 1000))
		for i := range page {
			k := first + i
			page[i] = library.Listen{SourceID: fmt.Sprint(k),
				PlayedAt: now.Add(-48*time.Hour - time.Duration(k)*time.Hour),
				Track: library.Track{Title: fmt.Sprint("Song ", (k+n)%3000),
					Artist: fmt.Sprint("Artist ", (k+n)%500)}}
		}
		_, err := db.SaveListens(ctx, library.Intake{User: u.ID, Connection: "navidrome", Listens: page})
		require.NoError(t, err)
	}
	for k := range runs {
		require.NoError(t, db.SaveRun(ctx, library.Run{User: u.ID, Connection: "navidrome",
			Stream: library.Listens, Started: now.Add(-time.Duration(k) * 5 * time.Minute), Took: time.Second,
			Rows: k % 2, Result: "ok"}))
	}
	for range 4 {
		require.NoError(t, db.Note(ctx, activity.Entry{User: u.ID, Action: activity.Synced, Connection: "navidrome"}))
	}
	require.NoError(t, db.Note(ctx, activity.Entry{Action: activity.Joined, Subject: u.Name}))
	if n%5 == 0 || u.ID == v.member {
		require.NoError(t, db.ShareListening(ctx, u.ID, true))
	}
	if n%10 == 1 {
		v.alert(u.ID)
		_, _, err := db.SaveAsk(ctx, asks.Ask{User: u.ID, Provider: "spotify", Need: asks.Setup, AskedAt: now})
		require.NoError(t, err)
	}
}

// alert stops somebody's Navidrome.
func (v *town) alert(user int64) {
	ctx, db := v.t.Context(), v.app.store
	c, err := db.Connection(ctx, user, "navidrome")
	require.NoError(v.t, err)
	_, err = db.OpenNotification(ctx, notify.Notification{User: user, Connection: "navidrome", Cause: "auth",
		Generation: c.Generation, Severity: notify.Error, Category: "auth", CreatedAt: time.Now(),
		Title: words.Plain("Connect Navidrome again"), Message: words.Plain("The server refuses the password.")})
	require.NoError(v.t, err)
	stop := backoff.Stop{Key: backoff.Key{User: user, Provider: "navidrome", Connection: "navidrome"},
		Generation: c.Generation, Category: resilience.Auth, Since: time.Now()}
	require.NoError(v.t, db.SaveStop(ctx, stop))
	v.backoff.RestoreStop(stop)
}

// breakers calls everybody's own server; those of every 25th person are down for good.
func (v *town) breakers() {
	for n := range inTown {
		calls := 1
		if n%25 == 0 {
			calls = 6
		}
		for range calls {
			call := resilience.Call{Client: v.client, User: int64(n), Provider: "navidrome"}
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
				fmt.Sprintf("http://music-%d.example.org/rest/ping", n), nil)
			require.NoError(v.t, err)
			_, err = call.Send(req, resilience.Endpoint{Name: "GET /rest/ping"})
			require.Error(v.t, err)
		}
	}
}

// counted fills the two weeks of the health page.
func (v *town) counted() {
	now := time.Now().Truncate(metrics.QuarterLength)
	for _, p := range observe.Catalogue(config.Config{}.Providers).Providers {
		for _, e := range p.Endpoints {
			var all []metrics.Quarter
			for at := now.Add(-metrics.KeepQuarters); at.Before(now); at = at.Add(metrics.QuarterLength) {
				all = append(all, metrics.Quarter{Start: at, Provider: p.Name, Endpoint: e.Name,
					Tally: metrics.Tally{Attempts: 100, Failures: 3, Took: time.Minute}})
			}
			for part := range slices.Chunk(all, 500) {
				require.NoError(v.t, v.app.store.AddQuarters(v.t.Context(), part))
			}
		}
	}
}

// opened is a page, and how much processor time it took.
type opened struct {
	path string
	took time.Duration
}

// BenchmarkPages opens every page, and makes every call that only reads, of an installation of 5,000 people with 10,000
// connections: as the administrator, and as a member. Each should take less than 50 ms of the processor, whose time is
// measured because it is the same on a busy machine. What is left out is made for one person alone and takes as long as
// they have listens: exports and pictures.
func BenchmarkPages(b *testing.B) {
	v := newTown(b)
	for who, user := range map[string]int64{"administrator": v.user, "member": v.member} {
		b.Run(who, func(b *testing.B) {
			web := v.serve(user)
			paths := v.pages(b)
			var all []opened
			for b.Loop() {
				all = openAll(b, web, paths)
			}
			slices.SortFunc(all, func(x, y opened) int { return cmp.Compare(y.took, x.took) })
			b.Logf("the slowest of %d: %v", len(all), all[:5])
			b.ReportMetric(float64(all[0].took.Microseconds())/1000, "slowest-cpu-ms")
			b.ReportMetric(float64(len(all)), "pages")
		})
	}
}

// openAll opens each page five times, and returns the median of those that exist for who is signed in.
func openAll(b *testing.B, web *server.Server, paths []string) (all []opened) {
	cookie := ""
	open := func(path string) (int, time.Duration) {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
		r.Host, r.RemoteAddr = "127.0.0.1:8420", "127.0.0.1:1"
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		before := cpu()
		web.ServeHTTP(w, r)
		took := time.Duration(cpu()-before) * time.Microsecond
		if cookies := w.Result().Cookies(); len(cookies) > 0 && cookie == "" {
			cookie = cookies[0].Name + "=" + cookies[0].Value
		}
		require.Less(b, w.Code, 500, "%s: %s", path, w.Body)
		return w.Code, took
	}
	for _, path := range paths {
		var times []time.Duration
		for range 5 {
			code, took := open(path)
			if code != http.StatusOK {
				break
			}
			times = append(times, took)
		}
		if len(times) == 5 {
			slices.Sort(times)
			all = append(all, opened{path, times[2]})
		}
	}
	return all
}

// pages returns the addresses of the pages and calls that only read, of the list of routes.
func (v *town) pages(b *testing.B) (paths []string) {
	list, err := os.ReadFile("../../internal/server/testdata/routes.txt")
	require.NoError(b, err)
	listens, _, err := v.app.store.Listens(b.Context(), v.user, "", 1)
	require.NoError(b, err)
	user, listen := fmt.Sprint(v.member), fmt.Sprint(listens[0].ID)
	fill := strings.NewReplacer("people/:id", "people/"+user, "users/:id", "users/"+user, "connections/:id",
		"connections/navidrome", "connect/:id", "connect/navidrome", "listens/:id", "listens/"+listen, ":kind/:id",
		"artist/1", "top/:kind", "top/artists", ":year", fmt.Sprint(time.Now().Year()-1),
		":week", lastMonday(), ":provider", "spotify",
		":id", "1")
	for route := range strings.Lines(string(list)) {
		path, reads := strings.CutPrefix(strings.TrimSpace(route), "GET ")
		skipped := []string{"export", "card.", "/events", "/art/", "*", "/readyz"}
		file := slices.ContainsFunc(skipped, func(part string) bool {
			return strings.Contains(path, part)
		})
		if reads && !file {
			paths = append(paths, fill.Replace(path))
		}
	}
	return append(paths, v.common(b)...)
}

// common returns the addresses of what somebody has in common with the administrator and with the member; a person has
// none with themselves.
func (v *town) common(b *testing.B) (paths []string) {
	people, err := v.app.store.Sharers(b.Context())
	require.NoError(b, err)
	for _, u := range people {
		if u.ID == v.user || u.ID == v.member {
			query := "?span=all&person=" + url.QueryEscape(u.Name)
			paths = append(paths, "/listening/common"+query, "/api/v1/stats/common"+query)
		}
	}
	return paths
}

// BenchmarkInCommon opens what two people have in common who have 500,000 listens each, from ten years, to the same
// 30,000 tracks. Some of the other one's are withheld. Each should take less than 50 ms of the processor for each of
// the two.
func BenchmarkInCommon(b *testing.B) {
	v := &town{living: &living{t: b}}
	v.wire(nowhere{})
	connect(b, v.app, 1, "navidrome")
	people, err := v.app.store.Users(b.Context())
	require.NoError(b, err)
	v.member = people[1].ID
	_, err = v.app.store.SavePlayRule(b.Context(), playrules.Rule{User: v.member, Name: "Guilty",
		Kind: playrules.Withhold, Artist: "/^Artist 7$/"})
	require.NoError(b, err)
	require.NoError(b, v.app.store.ShareListening(b.Context(), v.member, true))
	for who, u := range people {
		v.tenYears(u.ID, 7919+who)
	}
	require.NoError(b, v.app.store.BuildColumns(b.Context()))
	web, paths := v.serve(v.user), v.common(b)
	for b.Loop() {
		for i, one := range openAll(b, web, paths) {
			b.ReportMetric(float64(one.took.Microseconds())/1000, []string{"page", "call"}[i]+"-cpu-ms")
		}
	}
}

// tenYears stores 500,000 listens of a person; step decides in which order the tracks come.
func (v *town) tenYears(user int64, step int) {
	const listens, tracks, apart = 500_000, 30_000, 10 * 365 * 24 * time.Hour / 500_000
	page := make([]library.Listen, 1000)
	for from := range listens / len(page) {
		for i := range page {
			n := listens - 1 - from*len(page) - i // the oldest first
			t := n * step % tracks
			at := time.Now().Add(-time.Duration(n) * apart).Truncate(time.Second)
			page[i] = library.Listen{SourceID: fmt.Sprint(at.Unix(), "-", t), PlayedAt: at,
				Track: library.Track{Title: fmt.Sprint("The Title of Track ", t), Duration: 200 * time.Second,
					Artist: fmt.Sprint("Artist ", t%2000), Album: fmt.Sprint("The Album ", t%4000)}}
		}
		_, err := v.app.store.SaveListens(v.t.Context(), library.Intake{User: user, Connection: "navidrome",
			Listens: page})
		require.NoError(v.t, err)
	}
}

// lastMonday returns the date of the Monday of the last full week.
func lastMonday() string { return weekly.Monday(time.Now()).AddDate(0, 0, -7).Format(time.DateOnly) }
