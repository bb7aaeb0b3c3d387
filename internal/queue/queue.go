// Package queue is the seam to River, the queue of jobs.
//
// A job asks for a look at what is due, as delivery.Send does at what is to be sent to one connection. River's table
// holds no schedule and nothing that outlives the process. Other tables say what is to be done, and when. A job is
// inserted when something becomes due: by the change that makes it so, or by the alarm of [Work] when its time comes.
//
// A job is unique among those that have not ended: one connection has one Send at a time, and inserting another changes
// nothing. A worker ends its job in a transaction, and what is due is looked up after that. So an insertion during the
// job either waits for that transaction, or is about something that the look finds.
//
// A Queue is safe for concurrent use.
package queue

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// unended are the states of jobs that have not ended.
var unended = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled}

// Unique returns the options of a job that is unique among those that have not ended. Its queue has the name of its
// kind.
func Unique(job river.JobArgs) river.InsertOpts {
	return river.InsertOpts{Queue: job.Kind(), UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unended}}
}

// Write calls do in a transaction, which it commits unless do returns an error.
type Write func(ctx context.Context, do func(*sql.Tx) error) error

// Queue is River's tables in one database.
type Queue struct {
	driver riverdriver.Driver[*sql.Tx]
	write  Write
	client *river.Client[*sql.Tx] // inserts and lists only
	looks  sync.Map               // channel by kind of job, with a value when its alarm is to look up what is due
	again  sync.Map               // kinds of jobs whose alarm is to look at everything that is due
	server string                 // see Options
	// tell, if set, has the other servers look as well; stored says that they need not wait for a transaction.
	tell func(kind string, stored bool)
}

// Options say how a queue is opened.
type Options struct {
	// Server is the id of this server among those of a database, in lower case letters and digits. Each works jobs of
	// its own, which its alarms insert; empty for a server that has its database for itself.
	Server string
	Follow bool // the tables are another server's to bring up to date
}

// Open opens the queue, and removes the jobs that this server has left: River would take one that a process was working
// on for one under way, for an hour. Unless it follows, it brings River's tables up to date.
func Open(ctx context.Context, driver riverdriver.Driver[*sql.Tx], write Write, o Options) (*Queue, error) {
	if !o.Follow {
		m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("migrate the queue: %w", err)
		}
	}
	err := write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM river_job WHERE queue LIKE $1", "%"+o.Server)
		if err == nil && o.Server != "" { // of servers that are gone
			_, err = tx.ExecContext(ctx, "DELETE FROM river_job WHERE created_at < now() - interval '1 day'")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("empty the queue: %w", err)
	}
	client, err := river.NewClient(driver, &river.Config{Logger: slog.New(slog.DiscardHandler),
		FetchCooldown: river.FetchCooldownMin})
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return &Queue{driver: driver, write: write, client: client, server: o.Server}, nil
}

// queueOf returns the name of this server's queue for a kind of job.
func (q *Queue) queueOf(kind string) string {
	if q.server == "" {
		return kind
	}
	return kind + "-" + q.server
}

// Insert inserts jobs of a kind in a transaction. Where several servers share the work, the alarm of the one that has
// to do it inserts them: it has to Look.
func Insert[T river.JobArgs](ctx context.Context, q *Queue, tx *sql.Tx, all ...T) error {
	if len(all) == 0 || q.server != "" {
		return nil
	}
	return insert(ctx, q, tx, all)
}

// Next inserts the job that follows one of this server's in the transaction that ends it.
func Next[T river.JobArgs](ctx context.Context, q *Queue, tx *sql.Tx, one T) error {
	return insert(ctx, q, tx, []T{one})
}

func insert[T river.JobArgs](ctx context.Context, q *Queue, tx *sql.Tx, all []T) error {
	jobs := make([]river.InsertManyParams, len(all))
	opts := Unique(all[0])
	opts.Queue, opts.UniqueOpts.ByQueue = q.queueOf(all[0].Kind()), q.server != ""
	for i, one := range all {
		jobs[i] = river.InsertManyParams{Args: one, InsertOpts: &opts}
	}
	_, err := q.client.InsertManyTx(ctx, tx, jobs)
	return err
}

// Complete ends a job that is under way, in a transaction. It locks the job until the transaction ends.
func Complete[T river.JobArgs](ctx context.Context, tx *sql.Tx, job *river.Job[T]) error {
	_, err := river.JobCompleteTx[riverdriver.Driver[*sql.Tx]](ctx, tx, job)
	return err
}

// End is Complete in a transaction of its own. What has become due during the job is looked up after it.
func End[T river.JobArgs](ctx context.Context, q *Queue, job *river.Job[T]) error {
	err := q.write(ctx, func(tx *sql.Tx) error { return Complete(ctx, tx, job) })
	q.LookHere(job.Kind)
	return err
}

// Look has the alarm of a kind of job look soon at what is due: what waits has changed. It may be called in the
// transaction that changes it, because the alarm waits for that. The other servers' alarms look as well.
func (q *Queue) Look(kind string) {
	q.LookHere(kind)
	if q.tell != nil {
		q.tell(kind, false)
	}
}

// Stored is Look for what is committed, so that nobody has to wait for it.
func (q *Queue) Stored(kind string) {
	q.LookHere(kind)
	if q.tell != nil {
		q.tell(kind, true)
	}
}

// LookHere is Stored for the alarm of this server only.
func (q *Queue) LookHere(kind string) {
	select {
	case q.look(kind) <- struct{}{}:
	default:
	}
}

// LookAgain has the alarm of a kind of job on this server look at everything that is due, also at what it has seen
// before.
func (q *Queue) LookAgain(kind string) {
	q.again.Store(kind, true)
	q.LookHere(kind)
}

// LookAll is LookAgain for every kind of job that is worked here.
func (q *Queue) LookAll() {
	q.looks.Range(func(kind, _ any) bool {
		q.LookAgain(kind.(string))
		return true
	})
}

// Follow has tell called for each Look and Stored, so that the other servers look as well: for Look with LookAfter, for
// Stored with LookHere. Call it before the first of them.
func (q *Queue) Follow(tell func(kind string, stored bool)) { q.tell = tell }

// LookAfter has alarms of this server look at what another server's transactions change, which are waited for.
func (q *Queue) LookAfter(ctx context.Context, kinds ...string) error {
	err := q.write(ctx, func(*sql.Tx) error { return nil })
	for _, kind := range kinds {
		q.LookHere(kind)
	}
	return err
}

func (q *Queue) look(kind string) chan struct{} {
	c, _ := q.looks.LoadOrStore(kind, make(chan struct{}, 1))
	return c.(chan struct{})
}

// busy reports whether a job of a kind has not ended, of those of this server.
func (q *Queue) busy(ctx context.Context, kind string) (bool, error) {
	list, err := q.client.JobList(ctx, river.NewJobListParams().Queues(q.queueOf(kind)).States(unended...).First(1))
	return err == nil && len(list.Jobs) > 0, err
}

// setBack returns by how much the system clock was set back between two instants; 0 for less than a second, which is
// not worth a statement.
func setBack(from, to time.Time) time.Duration {
	if by := to.Sub(from) - to.Round(0).Sub(from.Round(0)); !from.IsZero() && by >= time.Second {
		return by
	}
	return 0
}
