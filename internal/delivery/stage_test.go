package delivery_test

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/storetest"
)

// dictator is a guard and an adapter in one: the title of a listen dictates its outcome.
type dictator struct {
	outcomes map[string]func(context.Context) error
	ready    bool
	asked    []string   // to be deleted
	calls    [][]string // the titles of each call of Submit
	whole    bool       // one bad listen has a call refused
}

func (d *dictator) Do(ctx context.Context, _ providers.Subject,
	do func(context.Context, resilience.Call, providers.Adapter) error) error {
	return do(ctx, resilience.Call{}, d)
}
func (d *dictator) ReadSince(library.Connection, time.Time) error { return nil }
func (d *dictator) Ready(library.Connection) bool                 { return d.ready }
func (d *dictator) Holds(library.ConnectionID, string) bool       { return true }
func (d *dictator) Leads() bool                                   { return true }
func (d *dictator) Use(ctx context.Context, _ int64, _ library.ConnectionID) (context.Context, func(), error) {
	return ctx, func() {}, nil
}
func (d *dictator) Prove(context.Context) (a providers.Account, err error) { return a, nil }

func (d *dictator) Submit(ctx context.Context, plays []library.StoredListen) (outcomes []error, err error) {
	d.calls = append(d.calls, nil)
	for _, p := range plays {
		last := len(d.calls) - 1
		d.calls[last] = append(d.calls[last], p.Title)
		if outcome := d.outcomes[p.Title]; outcome != nil {
			err = outcome(ctx)
		} else {
			err = nil
		}
		outcomes = append(outcomes, err)
	}
	if len(plays) == 1 {
		return nil, err
	}
	if bad := slices.IndexFunc(outcomes, resilience.IsItem); d.whole && bad >= 0 {
		return nil, outcomes[bad]
	}
	return outcomes, nil
}

// The outcomes that a test may dictate.
var (
	trouble      = &resilience.AnswerError{Endpoint: "POST x", Status: 503}
	unauthorized = &resilience.AnswerError{Endpoint: "POST x", Status: 401}
	badItem      = &resilience.AnswerError{Endpoint: "POST x", Status: 400,
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem}}
)

// always dictates one outcome.
func always(err error) func(context.Context) error { return func(context.Context) error { return err } }

// first dictates an outcome once, and success after that.
func first(err error) func(context.Context) error {
	return func(context.Context) error {
		defer func() { err = nil }()
		return err
	}
}

// hang is an upstream that never answers.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// stage is a database whose deliveries to Last.fm are really attempted, with outcomes that are dictated.
type stage struct {
	*testing.T
	*dictator
	s       *store.Store
	db      *sql.DB // another connection to the same database
	user    int64
	d       *delivery.Deliveries
	minutes int // until the newest listen
}

// day is when the listens of the tests begin.
var day = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

// newStage opens a stage in a bubble. A delivery has three attempts, and a dead letter is kept for three days.
func newStage(t *testing.T) *stage {
	dir := t.TempDir()
	schedule := delivery.Schedule{First: time.Second, Max: time.Hour, Age: 3 * time.Second}
	s := storetest.OpenWith(t, dir, store.Options{Sending: outbox.Options{Attempts: schedule.Attempts()}})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	driver, address := "sqlite", "file:"+dir+"/"+db.FileName+"?_pragma=busy_timeout(5000)"
	if url := postgrestest.Database(t, dir, nil); url != "" {
		driver, address = "pgx", url+"&timezone=UTC"
	}
	db, err := sql.Open(driver, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	user, err := s.AddUser(t.Context(), accounts.User{Name: "Alice", PasswordHash: "-", Role: accounts.Admin,
		CreatedAt: day}, false)
	require.NoError(t, err)
	_, err = s.SaveConnection(t.Context(), library.Connection{User: user.ID, ID: "lastfm", AccountID: "id-1",
		Account: "alice", Credentials: library.Credentials{"token": "x"}, CreatedAt: day})
	require.NoError(t, err)
	g := &dictator{outcomes: map[string]func(context.Context) error{}}
	registry := providers.NewRegistry(&providers.Provider{Description: providers.Description{Name: "lastfm",
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 1}}})
	parts := delivery.Parts{Registry: registry, Guard: g, Store: s, Bus: &events.Bus{},
		Log: slog.New(slog.DiscardHandler)}
	d := delivery.New(parts, delivery.Options{KeepDead: 3 * 24 * time.Hour, Schedule: schedule})
	return &stage{T: t, dictator: g, s: s, db: db, user: user.ID, d: d}
}

func (g *stage) exec(query string, args ...any) {
	g.Helper()
	_, err := g.db.Exec(query, args...)
	require.NoError(g, err)
}

// trigger makes the database do something, as "AFTER INSERT ON listens" says when. Without a condition, always.
func (g *stage) trigger(name, when, condition, do string) {
	g.Helper()
	condition = cmp.Or(condition, "1 = 1")
	if !postgrestest.On() {
		g.exec("CREATE TRIGGER " + name + " " + when + " WHEN (" + condition + ") BEGIN " + do + "; END")
		return
	}
	g.exec("CREATE FUNCTION " + name + "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + do + "; RETURN NEW; END $$")
	g.exec("CREATE TRIGGER " + name + " " + when + " FOR EACH ROW WHEN (" + condition + ") EXECUTE FUNCTION " + name +
		"()")
}

// refuse makes the database refuse to change a delivery's state, until allow.
func (g *stage) refuse() {
	g.Helper()
	do := "SELECT RAISE(ABORT, 'refused')"
	if postgrestest.On() {
		do = "RAISE EXCEPTION 'refused'"
	}
	g.trigger("away", "BEFORE UPDATE OF state ON deliveries", "", do)
}

func (g *stage) allow() {
	g.Helper()
	drop := "DROP TRIGGER away"
	if postgrestest.On() {
		drop += " ON deliveries"
	}
	g.exec(drop)
}

// enqueue enqueues a delivery of these listens, the first of which decides its outcome, and returns its id.
func (g *stage) enqueue(outcome func(context.Context) error, titles ...string) int64 {
	g.Helper()
	_, err := g.s.StartForwarding(g.Context(), delivery.Rule{User: g.user, Connection: "lastfm",
		Kind:  delivery.Scrobble,
		Batch: len(titles), From: day, Since: day}, false)
	require.NoError(g, err)
	var page []library.Listen
	for _, title := range titles {
		g.minutes += 10
		at := day.Add(time.Duration(g.minutes) * time.Minute)
		page = append(page, library.Listen{SourceID: title, PlayedAt: at,
			Track: library.Track{Title: title, Artist: "Artist", Duration: 4 * time.Minute}})
	}
	g.outcomes[titles[0]] = outcome
	_, err = g.s.SaveListens(g.Context(), library.Intake{User: g.user, Connection: "spotify", Listens: page})
	require.NoError(g, err)
	return g.deliveries()[0].ID
}

// deliveries returns all deliveries, the newest first.
func (g *stage) deliveries() []delivery.Delivery {
	g.Helper()
	all, _, err := g.s.Deliveries(g.Context(), delivery.Filter{User: g.user}, "", 100)
	require.NoError(g, err)
	return all
}

// run makes attempts at what is due for so long.
func (g *stage) run(d time.Duration) {
	time.Sleep(time.Millisecond) // what was postponed until this very instant is due
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(g, g.d.Run(ctx)) })
	time.Sleep(d)
	stop()
	wg.Wait()
}

func (g *stage) get(id int64) delivery.Delivery {
	g.Helper()
	page, _, err := g.s.Deliveries(g.Context(), delivery.Filter{User: g.user, ID: id}, "", 2)
	require.NoError(g, err)
	require.Len(g, page, 1)
	return page[0]
}

func (g *stage) requireState(want delivery.State, ids ...int64) {
	g.Helper()
	for _, id := range ids {
		require.Equal(g, want, g.get(id).State)
	}
}

func (g *stage) redrive(id int64) {
	g.Helper()
	n, err := g.d.Redrive(g.Context(), delivery.Filter{User: g.user, ID: id}, false)
	require.NoError(g, err)
	require.Equal(g, 1, n)
}

func (g *stage) discard(id int64) {
	g.Helper()
	require.NoError(g, g.d.Discard(g.Context(), g.user, id))
}

// Everything that this package promises holds on a Postgres server as well.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, "Transition|End|Delet|Selection")
}
