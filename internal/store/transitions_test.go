package store

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/resilience"
)

// watch has the database itself note every way that a delivery takes from one state to another.
func watch(t testing.TB, s *Store) {
	t.Helper()
	const stateOf = `CASE WHEN j.state = 'scheduled' AND j.scheduled_at >= '2200-01-01' THEN 'parked'
		WHEN j.state = 'running' THEN 'running' WHEN j.state = 'completed' THEN 'done'
		WHEN j.state IN ('cancelled', 'discarded') THEN 'dead' WHEN j.attempt > 0 THEN 'retrying' ELSE 'scheduled' END`
	was, is := strings.ReplaceAll(stateOf, "j.", "OLD."), strings.ReplaceAll(stateOf, "j.", "NEW.")
	number := "INTEGER"
	if postgrestest.On() {
		number = "BIGSERIAL"
	}
	_, err := s.writer.Exec("CREATE TABLE seen (n " + number + " PRIMARY KEY, id BIGINT, was TEXT, is_now TEXT)")
	require.NoError(t, err)
	const insert = "INSERT INTO seen (id, was, is_now) VALUES "
	trigger(t, s, "seen_first", "AFTER INSERT ON river_job", "", insert+"(NEW.id, '', "+is+")")
	trigger(t, s, "seen_next", "AFTER UPDATE ON river_job", "("+was+") <> ("+is+")", insert+"(NEW.id, "+was+", "+is+")")
	trigger(t, s, "seen_last", "AFTER DELETE ON river_job", "", insert+"(OLD.id, "+was+", '')")
}

type way struct{ from, to delivery.State }

func (w way) String() string { return fmt.Sprintf("%s → %s", w.from, w.to) }

// seen are the ways that deliveries have taken since watch, in the order of their names.
func seen(t testing.TB, s *Store) []string {
	t.Helper()
	type step struct {
		id int64
		way
	}
	scan := func(r scanner) (v step, err error) { return v, r.Scan(&v.id, &v.from, &v.to) }
	steps, err := list(context.Background(), s.reader, scan, "SELECT id, was, is_now FROM seen ORDER BY n")
	require.NoError(t, err)
	all := map[string]bool{}
	for i, v := range steps {
		// A dead letter of its own is written down and buried in one transaction: nobody sees it scheduled.
		if i+1 < len(steps) && v.way == (way{"", delivery.Scheduled}) && steps[i+1] == (step{v.id, way{delivery.Scheduled, delivery.Dead}}) {
			steps[i+1].from = ""
			continue
		}
		all[v.String()] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// ways are all that there are by the table, in the order of their names.
func ways() (all []string) {
	for _, v := range delivery.Transitions {
		all = append(all, way{v.From, v.To}.String())
	}
	slices.Sort(all)
	return all
}

// dictator is a guard and an adapter in one: what becomes of a listen is dictated by its title.
type dictator struct {
	outcomes map[string]func(context.Context) error
	ready    bool
}

func (d *dictator) Do(ctx context.Context, _ providers.Subject, call func(context.Context, providers.Adapter) error) error {
	return call(ctx, d)
}
func (d *dictator) CaughtUp(library.Connection, time.Time) error           { return nil }
func (d *dictator) Ready(library.Connection) bool                          { return d.ready }
func (d *dictator) Prove(context.Context) (a providers.Account, err error) { return a, nil }

func (d *dictator) Submit(ctx context.Context, plays []library.StoredListen) (outcomes []error, err error) {
	for _, p := range plays {
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

// stage is a store whose deliveries to Last.fm are really worked on, with outcomes that are dictated.
type stage struct {
	*testing.T
	*dictator
	s    *Store
	user int64
	d    *delivery.Deliveries
	all  float64
}

// setStage opens it in a bubble. A delivery has three attempts, and a dead letter is kept for three days.
func setStage(t *testing.T) *stage {
	s, user := setup(t)
	connect(t, s, user, "lastfm")
	watch(t, s)
	g := &dictator{outcomes: map[string]func(context.Context) error{}}
	registry := providers.NewRegistry(&providers.Provider{Description: providers.Description{Name: "lastfm",
		Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 1}}})
	d := delivery.New(delivery.Parts{Registry: registry, Guard: g, Store: s, Bus: &events.Bus{},
		Log: slog.New(slog.DiscardHandler)},
		delivery.Options{Schedule: delivery.Schedule{First: time.Second, Max: time.Hour, Age: 3 * time.Second},
			KeepDead: 3 * 24 * time.Hour})
	return &stage{T: t, dictator: g, s: s, user: user, d: d}
}

// owe writes down a delivery of these listens, the first of which decides its outcome, and returns its number.
func (g *stage) owe(outcome func(context.Context) error, titles ...string) int64 {
	g.Helper()
	forward(g, g.s, g.user, "lastfm", len(titles), 0)
	var page []library.Listen
	for _, title := range titles {
		g.all += 10
		page = append(page, track(title, g.all))
	}
	g.outcomes[titles[0]] = outcome
	save(g, g.s, g.user, "spotify", page...)
	all := deliveries(g, g.s, g.user)
	return all[len(all)-1].ID
}

// carry has what is due carried for so long.
func (g *stage) carry(d time.Duration) {
	time.Sleep(time.Millisecond) // what was put off until this very instant is due
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { assert.NoError(g, g.d.Run(ctx)) })
	time.Sleep(d)
	stop()
	wg.Wait()
}

func (g *stage) requireState(want delivery.State, ids ...int64) {
	g.Helper()
	for _, id := range ids {
		require.Equal(g, string(want), standing(g, g.s, g.user, id)[0])
	}
}

func (g *stage) redrive(id int64) {
	g.Helper()
	n, err := g.s.Redrive(g.Context(), delivery.Filter{User: g.user, ID: id}, false)
	require.NoError(g, err)
	require.Equal(g, 1, n)
}

func (g *stage) discard(id int64) {
	g.Helper()
	require.NoError(g, g.s.Discard(g.Context(), g.user, id))
}

// The database is away when an attempt ends, and for longer than the queue tries to note that.
func TestAnEndThatCouldNotBeNotedIsMadeUpFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := setStage(t)
		attempts := 0
		id := g.owe(func(context.Context) error {
			if attempts++; attempts == 1 {
				refuse(t, g.s, "away", "BEFORE UPDATE OF state ON river_job", "")
				time.AfterFunc(time.Minute, func() { allow(t, g.s, "away", "river_job") })
			}
			return nil
		}, "A")
		long := g.owe(func(context.Context) error {
			time.Sleep(5 * time.Minute)
			return nil
		}, "takes its time")
		g.carry(10 * time.Minute)
		g.requireState(delivery.Done, id, long)
		require.Equal(t, 2, attempts)
		require.Equal(t, "1 of 3", standing(t, g.s, g.user, long)[1])
	})
}

// TestEveryTransitionIsWalked leads deliveries over every way there is, and requires that these are the table's.
func TestEveryTransitionIsWalked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := setStage(t)
		done, tried := g.owe(nil, "done"), g.owe(first(trouble), "tried twice")
		waited := g.owe(first(&resilience.NotBeforeError{State: resilience.State{Kind: resilience.Waiting, Until: time.Now().Add(3 * time.Second)}}), "waited")
		bad, used := g.owe(always(badItem), "bad"), g.owe(always(trouble), "used up")
		pair := g.owe(always(badItem), "bad one", "good one")
		g.carry(30 * time.Second)
		g.requireState(delivery.Done, done, tried, waited, pair)
		g.requireState(delivery.Dead, bad, used, pair+1)

		g.redrive(used)
		g.requireState(delivery.Scheduled, used)
		g.discard(used)

		retrying := g.owe(always(trouble), "retrying")
		g.carry(500 * time.Millisecond)
		g.requireState(delivery.Retrying, retrying)
		g.redrive(retrying)
		g.requireState(delivery.Scheduled, retrying)
		g.carry(1500 * time.Millisecond)
		g.requireState(delivery.Retrying, retrying)
		g.discard(retrying)

		cut := g.owe(hang, "cut off")
		g.carry(time.Second)
		g.requireState(delivery.Scheduled, cut)
		become(t, g.s, delivery.Running, cut) // and the process dies
		g.outcomes["cut off"] = nil
		g.carry(time.Second)
		g.requireState(delivery.Done, cut)

		retrying = g.owe(always(trouble), "retrying too")
		g.carry(500 * time.Millisecond)
		stopped, behind := g.owe(first(unauthorized), "stopped"), g.owe(nil, "behind")
		// Its next attempt is not before the others'.
		_, err := g.s.writer.Exec("UPDATE river_job SET scheduled_at = $1 WHERE id = $2", queue.Time(time.Now().Add(time.Minute)), retrying)
		require.NoError(t, err)
		g.carry(500 * time.Millisecond)
		g.requireState(delivery.Parked, stopped, behind, retrying)
		g.ready = true
		g.discard(behind)
		g.carry(time.Minute)
		g.requireState(delivery.Done, stopped)

		time.Sleep(25 * time.Hour)
		g.carry(time.Minute) // dead letters are looked at again
		g.requireState(delivery.Dead, bad)
		g.discard(pair + 1)
		time.Sleep(8 * 24 * time.Hour)
		g.carry(2 * time.Minute)
		require.Empty(t, deliveries(t, g.s, g.user), "all of it is over")

		require.Equal(t, ways(), seen(t, g.s))
	})
}
