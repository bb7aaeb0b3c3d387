package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	syncer "reprise/internal/sync"
)

// atOnce answers for ListenBrainz and Last.fm as if each account had played three songs yesterday.
type atOnce struct {
	at    int64 // of the newest play, in Unix seconds
	calls atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (u *atOnce) RoundTrip(req *http.Request) (*http.Response, error) {
	defer u.calls.Add(1)
	const listenBrainz = `{"listened_at":%d,"recording_msid":"%d","track_metadata":{"artist_name":"Somebody",` +
		`"track_name":"Song %d","release_name":"Album","additional_info":{"duration_ms":180000,` +
		`"media_player":"Player"},"mbid_mapping":{"recording_mbid":"7c9b8c3e-0000-4000-8000-00000000000%d"}}}`
	const lastFM = `{"artist":{"#text":"Somebody"},"name":"Song %[3]d","album":{"#text":"Album"},` +
		`"date":{"uts":"%[1]d"},"mbid":"%[2]d%[4]d"}`
	one, around := listenBrainz, `{"payload":{"count":3,"listens":[%s]}}`
	if strings.Contains(req.URL.Host, "audioscrobbler") {
		one, around = lastFM, `{"recenttracks":{"track":[%s],"@attr":{"totalPages":"1","total":"3"}}}`
	}
	plays := make([]string, 3)
	for n := range plays {
		plays[n] = fmt.Sprintf(one, u.at-int64(n)*200, n, n, n)
	}
	switch {
	case strings.Contains(req.URL.Path, "listen-count"):
		around = `{"payload":{"count":3}}`
	case strings.Contains(req.URL.Path, "playlist"):
		around = `{"playlists":[],"playlist_count":0,"offset":0,"count":0}`
	}
	if strings.Contains(around, "%s") {
		around = fmt.Sprintf(around, strings.Join(plays, ","))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(around)), Body: io.NopCloser(strings.NewReader(around)), Request: req}, nil
}

// cpu returns the processor time that the process has used, in microseconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkTick measures what a tick that brings nothing new costs with upstreams that answer at once: the processor
// time of a connection (it should take at most 250 µs), and its share of the heap.
func BenchmarkTick(b *testing.B) {
	for _, connections := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) { benchmarkTick(b, connections) })
	}
}

func benchmarkTick(b *testing.B, connections int) {
	up := &atOnce{at: time.Now().Add(-10 * time.Hour).Unix()}
	a := wiredWith(b, up, map[string]string{
		"providers.listenbrainz.rate": "0", "providers.lastfm.rate": "0",
		"providers.lastfm.client_id": "k", "providers.lastfm.client_secret": "s"})
	empty := heap()
	pull, providers := a.server.Syncer, []string{"listenbrainz", "lastfm"}
	connect(b, a, connections/2, providers...)
	all, err := a.store.Connections(context.Background())
	require.NoError(b, err)
	require.Len(b, all, connections)
	running := func(c library.Connection) bool {
		return pull.Running(syncer.Key{User: c.User, Connection: c.ID, Stream: library.Listens}) ||
			pull.Running(syncer.Key{User: c.User, Connection: c.ID, Stream: library.Playlists})
	}
	await := func(calls int) {
		for up.calls.Load() < int64(calls) || slices.ContainsFunc(all, running) {
			time.Sleep(time.Millisecond)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pull.Run(ctx) }()
	// The first tick of each loop reads everything: the listens of both services, ListenBrainz' number of them, and its
	// two lists of playlists.
	await(connections + 3*connections/2)
	tick := func() {
		before := int(up.calls.Load())
		require.NoError(b, pull.Tick(ctx, library.Listens))
		await(before + connections)
	}
	tick()
	per := float64(connections)
	before := cpu()
	for b.Loop() {
		tick()
	}
	b.ReportMetric((cpu()-before)/per/float64(b.N), "cpu-µs/connection")
	b.ReportMetric((heap()-empty)/per, "heap-B/connection")
	cancel()
	require.NoError(b, <-ended)
}
