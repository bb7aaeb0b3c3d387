package enrich_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/enrich"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/store"
	"reprise/internal/storetest"
	syncer "reprise/internal/sync"
)

// far is a source of facts with the answers of a test.
type far struct {
	mu     sync.Mutex
	asked  []string // in order, as "artist A" or "track A/T"
	ids    []string // with which MBIDs
	answer func(library.Entity) (library.Facts, error)
	takes  time.Duration // how long a call lasts
}

func nameOf(e library.Entity) string {
	if e.Kind == library.KindArtist {
		return "artist " + e.Artist
	}
	return e.Kind + " " + e.Artist + "/" + e.Title
}

func (f *far) Enrich(ctx context.Context, _ resilience.Call, e library.Entity) (library.Facts, error) {
	f.mu.Lock()
	f.asked, f.ids = append(f.asked, nameOf(e)), append(f.ids, e.MBID)
	answer, takes := f.answer, f.takes
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return library.Facts{}, ctx.Err()
	case <-time.After(takes):
	}
	return answer(e)
}

// answers sets the answers from now on.
func (f *far) answers(answer func(library.Entity) (library.Facts, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// slowly sets how long a call takes.
func (f *far) slowly(takes time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes = takes
}

// with returns the MBIDs of all calls.
func (f *far) with() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ids)
}

// calls returns the calls since the last time.
func (f *far) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.asked
	f.asked = nil
	return all
}

// knows answers with facts about any entity.
func knows(e library.Entity) (library.Facts, error) {
	return library.Facts{MBID: "id of " + nameOf(e), Tags: []string{"rain", "fog"}, Released: "1999-06"}, nil
}

// but answers as knows does, except for one entity.
func but(name string, err error) func(library.Entity) (library.Facts, error) {
	return func(e library.Entity) (library.Facts, error) {
		if nameOf(e) == name {
			return library.Facts{}, err
		}
		return knows(e)
	}
}

// byID answers as knows does, but knows tracks by MBID only.
func byID(e library.Entity) (library.Facts, error) {
	if e.Kind == library.KindTrack && e.MBID == "" {
		return library.Facts{}, library.ErrNotThere
	}
	return knows(e)
}

var refused = &resilience.NetworkError{Endpoint: "GET /", Err: errors.New("refused")}

func fails(status int) error { return &resilience.AnswerError{Endpoint: "GET /", Status: status} }

// gallery keeps pictures in memory.
type gallery struct {
	mu      sync.Mutex
	fetched []string
	bad     map[string]error // by address
	full    error            // of Keep
	lost    []string         // names of pictures that had to make room
}

func (*gallery) Keeps() bool { return true }

func (g *gallery) lose(names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = names
}

func (g *gallery) Missing(names []string) (missing []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(g.lost, name) })
}

func (g *gallery) fill(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.full = err
}

func (g *gallery) Fetch(_ context.Context, _ resilience.Call, url string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fetched = append(g.fetched, url)
	return []byte(url), g.bad[url]
}

func (g *gallery) Keep(picture []byte) (name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name = "kept " + string(picture)
	g.lost = slices.DeleteFunc(g.lost, func(lost string) bool { return lost == name })
	return name, g.full
}

// bench is a household's music with a real database and guard, and two sources: facts knows everything, art needs its
// MBIDs.
type bench struct {
	t         *testing.T
	db        *store.Store
	bus       *events.Bus
	user, bob int64
	every     time.Duration
	facts     *far
	art       *far
	gallery   *gallery
	provider  [2]*providers.Provider
	services  *providers.Registry
	guard     *syncer.Guard
	*enrich.Runner

	stop func()
}

func inBubble(t *testing.T, test func(*testing.T, *bench)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, dir)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		b := &bench{
			t:       t,
			db:      db,
			bus:     &events.Bus{},
			facts:   &far{answer: knows},
			gallery: &gallery{bad: map[string]error{}},
			stop:    func() {},
		}
		b.art = &far{answer: func(e library.Entity) (library.Facts, error) {
			kind := map[string]string{library.KindArtist: "portrait", library.KindAlbum: "cover"}[e.Kind]
			return library.Facts{
				MBID: e.MBID,
				Pictures: []library.Picture{
					{Kind: "background", URL: "b"},
					{Kind: kind, URL: e.MBID},
					{Kind: kind, URL: "second"},
				},
			}, nil
		}}
		for i, e := range []providers.Enriches{
			{Kinds: []string{library.KindArtist, library.KindAlbum, library.KindTrack}, NotThere: 30 * 24 * time.Hour},
			{Kinds: []string{library.KindArtist, library.KindAlbum}, Needs: "facts", NotThere: 7 * 24 * time.Hour},
		} {
			name := []string{"facts", "art"}[i]
			b.provider[i] = &providers.Provider{Description: providers.Description{Name: name, DisplayName: name,
				Streams: []string{library.Enrichment}, Enriches: &e}, Enricher: []providers.Enricher{b.facts, b.art}[i]}
		}
		b.services = providers.NewRegistry(b.provider[:]...)
		for i, to := range []*int64{&b.user, &b.bob} {
			u, err := db.AddUser(context.Background(), accounts.User{
				Name:         fmt.Sprint("person ", i),
				PasswordHash: "-",
				Role:         accounts.Admin,
				CreatedAt:    time.Now(),
			}, false)
			require.NoError(t, err)
			*to = u.ID
		}
		b.restart()
		t.Cleanup(func() { b.stop() })
		test(t, b)
	})
}

// restart stops the runner and starts a new one, with a new guard.
func (b *bench) restart() {
	b.t.Helper()
	b.stop()
	log := slog.New(slog.DiscardHandler)
	told := alerts.New(alerts.Options{Store: b.db, Notifier: notify.New(b.db, b.bus, nil), Bus: b.bus, Log: log})
	b.guard = syncer.NewGuard(syncer.GuardOptions{
		Backoff: backoff.New(backoff.Options{}),
		Keys:    b.db,
		Alerts:  told,
		Log:     log,
	})
	b.Runner = enrich.New(b.config())
	b.run()
}

func (b *bench) config() enrich.Config {
	return enrich.Config{
		Every:    b.every,
		Services: b.services,
		Store:    b.db,
		Guard:    b.guard,
		Pictures: b.gallery,
		Bus:      b.bus,
		Log:      slog.New(slog.DiscardHandler),
	}
}

func (b *bench) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(b.t, b.Run(ctx)) })
	b.stop = func() {
		b.stop = func() {}
		cancel()
		running.Wait()
	}
	settle() // after the first tick
}

// settle waits until nothing happens any more.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// pass waits, with the ticks of that time.
func pass(d time.Duration) {
	time.Sleep(d)
	settle()
}

// seldom restarts with two ticks a day, so that months pass faster.
func (b *bench) seldom() {
	b.t.Helper()
	b.every = 12 * time.Hour
	b.restart()
}

// tick requests a tick and waits for its effects.
func (b *bench) tick() {
	b.Tick()
	settle()
}

// hear stores a listen of each track.
func (b *bench) hear(user int64, tracks ...library.Track) {
	b.t.Helper()
	plays := []library.Listen{}
	for i, t := range tracks {
		at := time.Now().Add(time.Duration(i) * 10 * time.Minute).Truncate(time.Millisecond)
		plays = append(plays, library.Listen{Track: t, SourceID: fmt.Sprint(t.Title, at.UnixMilli(), i), PlayedAt: at})
	}
	_, err := b.db.SaveListens(context.Background(), library.Intake{User: user, Connection: "spotify", Listens: plays})
	require.NoError(b.t, err)
}

func track(artist, album, title string) library.Track {
	return library.Track{Artist: artist, Album: album, Title: title, Duration: 3 * time.Minute}
}

// progress returns the progress of a source, without times.
func (b *bench) progress(source string) enrich.Progress {
	b.t.Helper()
	all, err := b.db.EnrichmentProgress(context.Background())
	require.NoError(b.t, err)
	p := all[source]
	p.NextAt, p.PutOffUntil = time.Time{}, time.Time{}
	return p
}

// music returns what is known about the artist, the album or the track itself of a track.
func (b *bench) music(kind string, t library.Track) enrich.Music {
	b.t.Helper()
	links, err := b.db.Links(context.Background(), []library.Track{t})
	require.NoError(b.t, err)
	ids := map[string]int64{
		library.KindArtist: links[0].Artist,
		library.KindAlbum:  links[0].Album,
		library.KindTrack:  links[0].Track,
	}
	m, err := b.db.Music(context.Background(), b.user, kind, ids[kind])
	require.NoError(b.t, err)
	return m
}

// told returns what one source tells.
func told(m enrich.Music, source string) enrich.Told {
	return m.Told[slices.IndexFunc(m.Told, func(t enrich.Told) bool { return t.Source == source })]
}

var errBusy = &resilience.AnswerError{Endpoint: "GET /", Status: http.StatusServiceUnavailable,
	Meaning: &resilience.Meaning{
		Class:    resilience.Retriable,
		Category: resilience.RateLimit,
		Scope:    resilience.ScopeApp,
		Hold:     time.Minute,
	}}
