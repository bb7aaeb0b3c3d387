package queue

import (
	"fmt"
	"strings"
	"time"

	"reprise/internal/library"
)

// State is the state of a job.
type State string

// The states of a job.
const (
	Scheduled State = "scheduled" // not attempted yet
	Running   State = "running"
	Retrying  State = "retrying" // attempted, and tried again when it is due
	Parked    State = "parked"   // waits for a person; uses no attempts and does not age
	Done      State = "done"
	Dead      State = "dead" // given up
)

// Live reports whether a job in this state has not ended.
func (s State) Live() bool { return s != Done && s != Dead }

// The conditions on River's states. A parked job is scheduled for a time that never comes, so that River leaves it
// alone.
const (
	waiting = "state IN ('available', 'scheduled', 'retryable')"
	unended = "state IN ('available', 'scheduled', 'retryable', 'running')"
	parked  = "state = 'scheduled' AND scheduled_at >= '2200-01-01'"
	never   = "'2300-01-01 00:00:00'"
)

// ForGood is a snooze that parks the job which returns it.
const ForGood = 274 * 365 * 24 * time.Hour

// conditions is the condition for each state on the columns of Table.
var conditions = map[State]string{
	Scheduled: "(" + isWaiting + " AND j.attempts = 0 AND NOT " + isParked + ")",
	Running:   "j.river_state = 'running'",
	Retrying:  "(" + isWaiting + " AND j.attempts > 0 AND NOT " + isParked + ")",
	Parked:    isParked,
	Done:      "j.river_state = 'completed'",
	Dead:      "j.river_state IN ('cancelled', 'discarded')",
}

const (
	isWaiting = "j.river_state IN ('available', 'scheduled', 'retryable')"
	isParked  = "(j.river_state = 'scheduled' AND j.due >= '2200-01-01')"
)

// Table is an SQL table expression with a row for each job, to join with deliveries as j. Its columns are id, state
// (a State), attempts, max_attempts, due, ended_at, and the river_state that HasState uses.
//
// River's API returns jobs, which a page of deliveries would have to fetch one by one.
const Table = `(SELECT id, CASE WHEN ` + parked + ` THEN 'parked' WHEN state = 'running' THEN 'running'
	WHEN state = 'completed' THEN 'done' WHEN state IN ('cancelled', 'discarded') THEN 'dead'
	WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS state, state AS river_state,
	attempt AS attempts, max_attempts, scheduled_at AS due, finalized_at AS ended_at FROM river_job)`

// HasState returns an SQL condition that a row j of Table is in one of these states. It lets the database use River's
// index.
func HasState(states ...State) string {
	all := make([]string, len(states))
	for i, state := range states {
		all[i] = conditions[state]
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

// Which selects jobs. The zero value selects none.
type Which struct {
	ids  string // an SQL list or query of ids, with placeholders from $1
	args []any
}

// Where selects the jobs whose ids a query returns. Its placeholders are numbered from $1.
func Where(query string, args ...any) Which { return Which{query, args} }

// Of selects the jobs of one person's deliveries to one provider.
func Of(user int64, conn library.ConnectionID) Which {
	return Where("SELECT id FROM deliveries WHERE user_id = $1 AND connection = $2", user, conn)
}

// One selects one job.
func One(id int64) Which { return Where("$1", id) }

// These selects jobs by their ids.
func These(ids ...int64) Which {
	var w Which
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = fmt.Sprintf("$%d", i+1)
		w.args = append(w.args, id)
	}
	w.ids = strings.Join(list, ", ")
	return w
}

// timeForm is how River writes times on SQLite, where they are compared as texts. Postgres reads it too.
const timeForm = "2006-01-02 15:04:05.999"

// Time returns a time as River stores it.
func Time(t time.Time) string { return t.UTC().Round(time.Millisecond).Format(timeForm) }
