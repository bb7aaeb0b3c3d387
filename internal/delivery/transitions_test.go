package delivery_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/postgrestest"
	"reprise/internal/resilience/backoff"
)

// The database is away when an attempt ends.
func TestAnEndIsStoredWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		attempts := 0
		id := g.enqueue(func(context.Context) error {
			if attempts++; attempts == 1 {
				g.refuse()
				time.AfterFunc(time.Minute, g.allow)
			}
			return nil
		}, "A")
		long := g.enqueue(func(context.Context) error {
			time.Sleep(5 * time.Minute)
			return nil
		}, "takes its time")
		g.run(10 * time.Minute)
		g.requireState(delivery.Done, id, long)
		require.Equal(t, 1, attempts)
		require.Equal(t, []int{1, 1}, []int{g.get(id).Attempts, g.get(long).Attempts})
	})
}

// TestAPayloadOfANewerVersionWaits: after a step back to an older version nothing is sent that this one might read
// wrongly, no attempt is used up, and it goes out once a version runs that knows it.
//
// Promise: Payloads of a newer version wait: this version might read them wrongly.
func TestAPayloadOfANewerVersionWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		attempts := 0
		count := func(context.Context) error { attempts++; return nil }
		newer, known := g.enqueue(count, "A"), g.enqueue(count, "B")
		version := func(n int) {
			_, err := g.db.ExecContext(t.Context(),
				"UPDATE deliveries SET schema_version = $1 WHERE id = $2", n, newer)
			require.NoError(t, err)
		}
		version(2)
		g.run(90 * time.Minute)
		g.requireState(delivery.Done, known)
		require.Equal(t, 1, attempts)
		require.NotEqual(t, delivery.Dead, g.get(newer).State)
		require.Zero(t, g.get(newer).Attempts)
		version(1)
		g.run(61 * time.Minute)
		g.requireState(delivery.Done, newer)
		require.Equal(t, 2, attempts)
	})
}

// TestEveryTransitionIsWalked leads deliveries over every way there is, and requires that these are the table's.
//
// Promise: A dead letter is tried again: after 24 h; its cause may be gone.
func TestEveryTransitionIsWalked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		g.watch()
		done, tried := g.enqueue(nil, "done"), g.enqueue(first(trouble), "tried twice")
		waited := g.enqueue(first(&backoff.NotBeforeError{State: backoff.State{Kind: backoff.Waiting,
			Until: time.Now().Add(3 * time.Second)}}), "waited")
		bad, used := g.enqueue(always(badItem), "bad"), g.enqueue(always(trouble), "used up")
		pair := g.enqueue(always(badItem), "bad one", "good one")
		g.run(30 * time.Second)
		g.requireState(delivery.Done, done, tried, waited, pair)
		g.requireState(delivery.Dead, bad, used, pair+1)

		g.redrive(used)
		g.requireState(delivery.Scheduled, used)
		g.discard(used)

		retrying := g.enqueue(always(trouble), "retrying")
		g.run(500 * time.Millisecond)
		g.requireState(delivery.Retrying, retrying)
		g.redrive(retrying)
		g.requireState(delivery.Scheduled, retrying)
		g.run(1500 * time.Millisecond)
		g.requireState(delivery.Retrying, retrying)
		g.discard(retrying)

		cut := g.enqueue(hang, "cut off")
		g.run(time.Second)
		g.requireState(delivery.Scheduled, cut)
		g.exec("UPDATE deliveries SET state = 'running', attempts = attempts + 1 WHERE id = $1", cut)
		// and the process dies
		g.outcomes["cut off"] = nil
		g.run(time.Second)
		g.requireState(delivery.Done, cut)

		retrying = g.enqueue(always(trouble), "retrying too")
		g.run(500 * time.Millisecond)
		stopped, behind := g.enqueue(first(unauthorized), "stopped"), g.enqueue(nil, "behind")
		// Its next attempt is not before the others'.
		g.exec("UPDATE deliveries SET due_at = $1 WHERE id = $2", time.Now().Add(time.Minute).UnixMilli(), retrying)
		g.run(500 * time.Millisecond)
		g.requireState(delivery.Parked, stopped, behind, retrying)
		g.ready = true
		g.discard(behind)
		g.run(time.Minute)
		g.requireState(delivery.Done, stopped)

		time.Sleep(25 * time.Hour)
		g.run(time.Minute) // dead letters are looked at again
		g.requireState(delivery.Dead, bad)
		g.discard(pair + 1)
		time.Sleep(8 * 24 * time.Hour)
		g.run(2 * time.Minute)
		require.Empty(t, g.deliveries(), "all of it is over")

		require.Equal(t, ways(), g.seen())
	})
}

// watch makes the database note every transition of a delivery.
func (g *stage) watch() {
	g.Helper()
	number := "INTEGER"
	if postgrestest.On() {
		number = "BIGSERIAL"
	}
	g.exec("CREATE TABLE seen (n " + number + " PRIMARY KEY, id BIGINT, was TEXT, is_now TEXT)")
	const insert = "INSERT INTO seen (id, was, is_now) VALUES "
	g.trigger("seen_first", "AFTER INSERT ON deliveries", "", insert+"(NEW.id, '', NEW.state)")
	g.trigger("seen_next", "AFTER UPDATE ON deliveries", "OLD.state <> NEW.state",
		insert+"(NEW.id, OLD.state, NEW.state)")
	g.trigger("seen_last", "AFTER DELETE ON deliveries", "", insert+"(OLD.id, OLD.state, '')")
}

// way is a transition.
type way struct{ from, to delivery.State }

func (w way) String() string { return fmt.Sprintf("%s → %s", w.from, w.to) }

// seen returns the transitions since watch, sorted.
func (g *stage) seen() []string {
	g.Helper()
	type step struct {
		id int64
		way
	}
	rows, err := g.db.Query("SELECT id, was, is_now FROM seen ORDER BY n")
	require.NoError(g, err)
	defer rows.Close()
	var steps []step
	for rows.Next() {
		var v step
		require.NoError(g, rows.Scan(&v.id, &v.from, &v.to))
		steps = append(steps, v)
	}
	require.NoError(g, rows.Err())
	all := map[string]bool{}
	for i, v := range steps {
		// A dead letter of its own is enqueued and buried in one transaction: nobody sees it scheduled.
		if v.way == (way{"", delivery.Scheduled}) && i+1 < len(steps) &&
			steps[i+1] == (step{v.id, way{delivery.Scheduled, delivery.Dead}}) {
			steps[i+1].from = ""
			continue
		}
		all[v.String()] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// ways returns all transitions of the table, sorted.
func ways() (all []string) {
	for _, v := range delivery.Transitions {
		all = append(all, way{v.From, v.To}.String())
	}
	slices.Sort(all)
	return all
}
