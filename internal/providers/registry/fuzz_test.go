package registry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/resilience/turns"
)

// mostCalls is after how many calls the parrot falls silent, so that a walk over pages without an end ends.
const mostCalls = 8

// parrot answers every call with the same.
type parrot struct {
	status int
	header http.Header
	body   []byte
	door   bool // lets callers sign in
	calls  int
}

func (p *parrot) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.calls++; p.calls > mostCalls {
		return nil, errors.New("silence")
	}
	body := io.NopCloser(bytes.NewReader(p.body))
	if door := map[string]string{"/auth/login": `{"token":"t"}`, "/rest/ping": `{"subsonic-response":{"status":"ok"}}`,
		"/rest/ping.view": `{"subsonic-response":{"status":"ok"}}`}[req.URL.Path]; door != "" && p.door {
		return &http.Response{StatusCode: 200, Header: p.header.Clone(), Body: io.NopCloser(strings.NewReader(door)),
			ContentLength: -1, Request: req}, nil
	}
	if req.Method == http.MethodHead {
		body = http.NoBody
	}
	return &http.Response{StatusCode: p.status, Header: p.header.Clone(), Body: body, ContentLength: -1,
		Request: req}, nil
}

// everything is what any of the providers may ask for.
var everything = library.Credentials{"url": "http://music.example.org", "username": "geoff", "user": "geoff",
	"password": "p", "auth": "token", "token": "t", "session_key": "s", "account": "a", "bucket": "b",
	"endpoint": "http://s3.example.org", "region": "r", "access_key": "k", "secret_key": "s"}

// exercise makes every call that an adapter of the provider can make, each with upstreams that answer as p does.
func exercise(t *testing.T, d providers.Description, credentials library.Credentials, p parrot) {
	ctx, turn := t.Context(), &turns.Turn{}
	defer turn.End()
	var settings []string
	for _, s := range d.Settings {
		if s.Required && s.Kind != providers.Keys {
			settings = append(settings, s.Name, "something")
		}
	}
	open := func() (*providers.Provider, resilience.Call) {
		far := p
		client := transport.NewClient(&transport.Transport{Base: &far, Turns: turns.New()})
		in := providers.Installation{Client: client, Keyed: client, Contact: "a@example.org"}
		provider := providertest.NewIn(in, d, settings...)
		return provider, resilience.Call{Client: client, User: 1, Provider: d.Name, Turn: turn}
	}
	calls := []func(providers.Adapter){
		func(a providers.Adapter) {
			if account, err := a.Prove(ctx); err == nil {
				require.LessOrEqual(t, len(library.Name(account.Name)), 1000)
			}
		},
		func(a providers.Adapter) {
			source, ok := a.(providers.ListenSource)
			if !ok {
				return
			}
			for page, err := range source.Listens(ctx, library.Span{After: time.Unix(1_600_000_000, 0)}) {
				if err != nil {
					return
				}
				for i := range page.Listens {
					_ = page.Listens[i].Clean(time.Now())
				}
			}
		},
		func(a providers.Adapter) {
			source, ok := a.(providers.PlaylistSource)
			if !ok {
				return
			}
			for page, err := range source.Playlists(ctx) {
				if err != nil || len(page) == 0 {
					break
				}
			}
			for _, err := range source.Tracks(ctx, library.Playlist{SourceID: "1", Snapshot: "s"}, nil) {
				if err != nil {
					break
				}
			}
		},
		func(a providers.Adapter) {
			if taker, ok := a.(providers.ListenTaker); ok {
				_, _ = taker.Submit(ctx, []library.StoredListen{{ID: 1, Listen: library.Listen{PlayedAt: time.Now(),
					Track: library.Track{Title: "Jóga", Artist: "Björk", SourceID: "1"}}}})
			}
		},
		func(a providers.Adapter) {
			writer, ok := a.(providers.PlaylistWriter)
			if !ok {
				return
			}
			_, _ = writer.Find(ctx, library.Track{Title: "Jóga", Artist: "Björk", ISRC: "GBAYE9700123"})
			_, _ = writer.CreatePlaylist(ctx, "Mine", []string{"1"})
			_ = writer.ReplacePlaylist(ctx, "1", "Mine", []string{"1"})
		},
		func(a providers.Adapter) {
			if objects, ok := a.(providers.ObjectStore); ok {
				_, _ = objects.Keep(ctx, "a.json", "application/json", []byte("{}"))
			}
		},
	}
	for _, make := range calls {
		if provider, call := open(); provider.Open != nil {
			make(provider.Open(call, credentials))
		}
	}
	provider, call := open()
	if provider.SignIn != nil {
		_, _ = provider.SignIn.Exchange(ctx, call, "token")
	}
	if provider.Enricher != nil {
		for _, e := range []library.Entity{{Kind: library.KindArtist, Artist: "Björk"},
			{Kind: library.KindAlbum, Artist: "Björk", Title: "Début", MBID: "f27ec8db-af05-4f36-916e-3d57f91ecf5e"},
			{Kind: library.KindTrack, Artist: "Björk", Title: "Jóga", ISRC: "GBAYE9700123"}} {
			provider, call := open()
			if facts, err := provider.Enricher.Enrich(ctx, call, e); err == nil {
				facts.Clean()
			}
		}
	}
	if provider.Model != nil {
		_, _ = provider.Model.Complete(context.WithoutCancel(ctx), call, providers.Prompt{System: "s", User: "u"})
	}
}

// FuzzAdapters gives any answer to every call of every adapter: none panics, and none needs much more memory than what
// it was sent.
func FuzzAdapters(f *testing.F) {
	all := registry.Descriptions()
	for which, d := range all {
		files, err := filepath.Glob(filepath.Join("..", d.Name, "testdata", "*"))
		require.NoError(f, err)
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil || len(body) > 16<<10 { // also a folder
				continue
			}
			status := 200
			if name := filepath.Base(file); len(name) > 3 && strings.ContainsAny(name[:1], "45") {
				status = 400
			}
			f.Add(byte(which), uint16(status-200), body)
			f.Add(byte(which)|0x80, uint16(status-200), body)
			f.Add(byte(which)|0x40, uint16(status-200), body)
		}
	}
	for which := range all {
		for _, body := range []string{
			`[{"mediaFileId":"1","submissionTime":1700000000}]`,
			`[{"id":"1","title":"Jóga","artist":"Björk","playCount":5,"playDate":"2026-01-01T00:00:00Z"}]`,
			`{"subsonic-response":{"status":"failed","error":{"code":40,"message":"Wrong user name or password"}}}`,
			`{"artists":[{"id":"1","score":100,"name":"Björk","tags":[{"count":1,"name":"pop"}]}]}`,
			`{"error":{"code":400,"message":"no","errors":[{"reason":"x"}]}}`,
		} {
			f.Add(byte(which), uint16(0), []byte(body))
		}
	}
	f.Add(byte(0), uint16(229), []byte(`{"error":{"status":429}}`))
	f.Fuzz(func(t *testing.T, which byte, above200 uint16, body []byte) {
		d := all[int(which&0x3f)%len(all)]
		credentials := library.Credentials{"native": "yes"}
		if which >= 0x80 {
			credentials["native"] = "no"
		}
		maps.Copy(credentials, everything)
		p := parrot{status: 200 + int(above200)%400, body: body, door: which&0x40 == 0,
			header: http.Header{"Content-Type": {"application/json"}, "X-Total-Count": {"7"}}}
		if d.Name == "s3" {
			p.header.Set("Content-Type", "application/xml")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		exercise(t, d, credentials, p)
		runtime.ReadMemStats(&after)
		const calls, perByte, besides = 12 * mostCalls, 200, 8 << 20
		most := uint64(calls*perByte*len(body) + besides)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, most, "memory for %d bytes", len(body))
	})
}
