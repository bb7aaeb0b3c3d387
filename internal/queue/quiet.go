package queue

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"
)

// quietDriver is the driver of the client that works jobs. River asks the database all the time: it campaigns for its
// leadership every five seconds, and looks for jobs in each queue, for jobs that have become due, and for stuck ones.
// This driver answers from memory what one process knows by itself, so that a disk may sleep while nothing is due. Its
// client never leads: what a leader of River does is done by Keep, and by those who work the jobs.
//
// Only one such client may run at a time; its caller sees to that.
type quietDriver struct {
	riverdriver.Driver[*sql.Tx]
	executor *quietExecutor
}

// quiet returns a driver whose clients take jobs lane by lane.
func quiet(d riverdriver.Driver[*sql.Tx], l *lanes) quietDriver {
	return quietDriver{d, &quietExecutor{Executor: d.GetExecutor(), driver: d, lanes: l}}
}

// GetExecutor implements riverdriver.Driver.
func (d quietDriver) GetExecutor() riverdriver.Executor { return d.executor }

// SupportsListener implements riverdriver.Driver.
func (quietDriver) SupportsListener() bool { return true }

// GetListener implements riverdriver.Driver.
func (d quietDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.executor.lanes
}

// quietExecutor runs the statements of a quietDriver.
type quietExecutor struct {
	riverdriver.Executor
	driver  riverdriver.Driver[*sql.Tx]
	lanes   *lanes
	crew    atomic.Pointer[Crew] // whose jobs they are; set by Work
	touched atomic.Uint64        // how often jobs were taken, or their ends were to be stored
}

// Begin implements riverdriver.Executor. River begins transactions for its election only.
func (e *quietExecutor) Begin(context.Context) (riverdriver.ExecutorTx, error) {
	return unbegun{nowhere}, nil
}

// QueueCreateOrSetUpdatedAt implements riverdriver.Executor. Nobody reads the table of the queues in use.
func (e *quietExecutor) QueueCreateOrSetUpdatedAt(
	_ context.Context, p *riverdriver.QueueCreateOrSetUpdatedAtParams,
) (*rivertype.Queue, error) {
	return &rivertype.Queue{Name: p.Name, Metadata: p.Metadata}, nil
}

// JobGetAvailable implements riverdriver.Executor.
func (e *quietExecutor) JobGetAvailable(
	ctx context.Context, p *riverdriver.JobGetAvailableParams,
) ([]*rivertype.JobRow, error) {
	from := e.lanes.look(p.MaxToLock, e.crew.Load().AtOnce())
	if len(from) == 0 {
		return nil, nil
	}
	jobs, err := e.take(ctx, from, p.Now.UTC())
	e.lanes.took(from, jobs, err)
	if len(jobs) > 0 {
		e.touched.Add(1)
	}
	return jobs, err
}

// JobSetStateIfRunningMany implements riverdriver.Executor.
func (e *quietExecutor) JobSetStateIfRunningMany(
	ctx context.Context, p *riverdriver.JobSetStateIfRunningManyParams,
) ([]*rivertype.JobRow, error) {
	e.touched.Add(1)
	e.lanes.free(e.lanes.jobs(p.ID)...) // River ends jobs of a kind that it does not know without an attempt
	done, others := divide(p)
	e.lanes.forget(others.ID) // before they can be taken again
	var jobs []*rivertype.JobRow
	if len(done) > 0 {
		var err error
		if jobs, err = e.complete(ctx, done); err != nil {
			return nil, err
		}
	}
	if len(others.ID) == 0 {
		return jobs, nil
	}
	more, err := e.Executor.JobSetStateIfRunningMany(ctx, others)
	return append(jobs, more...), err
}

// unbegun is a transaction that is never begun, because all that River does in it is answered from memory.
type unbegun struct{ riverdriver.Executor }

// Commit implements riverdriver.ExecutorTx.
func (unbegun) Commit(context.Context) error { return nil }

// Rollback implements riverdriver.ExecutorTx.
func (unbegun) Rollback(context.Context) error { return nil }

// LeaderDeleteExpired implements riverdriver.Executor.
func (unbegun) LeaderDeleteExpired(context.Context, *riverdriver.LeaderDeleteExpiredParams) (int, error) {
	return 0, nil
}

// LeaderAttemptElect implements riverdriver.Executor.
func (unbegun) LeaderAttemptElect(context.Context, *riverdriver.LeaderElectParams) (bool, error) {
	return false, nil
}

// nowhere refuses whatever else River may ask for in such a transaction, after an update of it.
var nowhere = riversqlite.New(sql.OpenDB(refusing{})).GetExecutor()

// refusing is a driver.Connector without a database.
type refusing struct{}

// errUnbegun is what it answers.
var errUnbegun = errors.New("queue: River asks for something else in a transaction that is answered from memory")

// Connect implements driver.Connector.
func (refusing) Connect(context.Context) (driver.Conn, error) { return nil, errUnbegun }

// Driver implements driver.Connector.
func (refusing) Driver() driver.Driver { return nil }
