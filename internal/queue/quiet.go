package queue

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"
)

// quietDriver is the driver of the client that works jobs. River asks the database all the time: it renews its leader's
// term every five seconds, and looks for jobs in each queue, for jobs that have become due, and for stuck ones. This
// driver answers from memory what one process knows by itself, so that a disk may sleep while nothing is due. It lets a
// look for jobs through only when the bell was rung for the queue since the last look that found none. While nobody
// rings it, because Keep does not run, River asks as usual.
//
// Whoever runs such a client is the leader: the caller makes sure that there is one at a time.
type quietDriver struct {
	riverdriver.Driver[*sql.Tx]
	executor *quietExecutor
}

// quiet returns a driver whose clients listen to the bell.
func quiet(d riverdriver.Driver[*sql.Tx], b *bell) quietDriver {
	return quietDriver{d, &quietExecutor{Executor: d.GetExecutor(), bell: b, reported: map[string]report{}}}
}

// GetExecutor implements riverdriver.Driver.
func (d quietDriver) GetExecutor() riverdriver.Executor { return d.executor }

// SupportsListener implements riverdriver.Driver.
func (quietDriver) SupportsListener() bool { return true }

// GetListener implements riverdriver.Driver.
func (d quietDriver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.executor.bell
}

// reportEvery is how often River's note that a queue is in use is stored. Its cleaner deletes those older than a day.
const reportEvery = 12 * time.Hour

// report is when the note was stored, and what River got back.
type report struct {
	at    time.Time
	queue *rivertype.Queue
}

// quietExecutor runs the statements of a quietDriver.
type quietExecutor struct {
	riverdriver.Executor
	bell    *bell
	touched atomic.Uint64 // how often jobs were taken, or their ends were to be stored

	mu       sync.Mutex
	reported map[string]report // by queue
}

// Begin implements riverdriver.Executor. River begins transactions for its election and its scheduler only.
func (e *quietExecutor) Begin(ctx context.Context) (riverdriver.ExecutorTx, error) {
	if !e.bell.attended() {
		return e.Executor.Begin(ctx)
	}
	return unbegun{nowhere}, nil
}

// JobGetAvailable implements riverdriver.Executor.
func (e *quietExecutor) JobGetAvailable(
	ctx context.Context, p *riverdriver.JobGetAvailableParams,
) ([]*rivertype.JobRow, error) {
	if !e.bell.heard(p.Queue) {
		return nil, nil
	}
	jobs, err := e.Executor.JobGetAvailable(ctx, p)
	if err != nil || len(jobs) == p.MaxToLock { // there may be more
		e.bell.again(p.Queue)
	}
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
	return e.Executor.JobSetStateIfRunningMany(ctx, p)
}

// JobGetStuck implements riverdriver.Executor. Stuck jobs are found by those who know which jobs they work on.
func (e *quietExecutor) JobGetStuck(context.Context, *riverdriver.JobGetStuckParams) ([]*rivertype.JobRow, error) {
	return nil, nil
}

// LeaderResign implements riverdriver.Executor.
func (e *quietExecutor) LeaderResign(context.Context, *riverdriver.LeaderResignParams) (bool, error) {
	return true, nil
}

// QueueCreateOrSetUpdatedAt implements riverdriver.Executor.
func (e *quietExecutor) QueueCreateOrSetUpdatedAt(
	ctx context.Context, p *riverdriver.QueueCreateOrSetUpdatedAtParams,
) (*rivertype.Queue, error) {
	e.mu.Lock()
	last := e.reported[p.Name]
	e.mu.Unlock()
	if last.queue != nil && time.Since(last.at) < reportEvery {
		return last.queue, nil
	}
	q, err := e.Executor.QueueCreateOrSetUpdatedAt(ctx, p)
	if err == nil {
		e.mu.Lock()
		e.reported[p.Name] = report{time.Now(), q}
		e.mu.Unlock()
	}
	return q, err
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
	return true, nil
}

// LeaderAttemptReelect implements riverdriver.Executor.
func (unbegun) LeaderAttemptReelect(context.Context, *riverdriver.LeaderElectParams) (bool, error) {
	return true, nil
}

// JobSchedule implements riverdriver.Executor. Keep makes jobs available when they are due.
func (unbegun) JobSchedule(context.Context, *riverdriver.JobScheduleParams) ([]*riverdriver.JobScheduleResult, error) {
	return nil, nil
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
