package queue

import (
	"context"
	"sync"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// everyQueue is the only queue that River knows of: it fetches the jobs of all our queues from it. That each of ours
// has one job under way at a time is up to lanes.
const everyQueue = "all"

// lanes knows which queues may have due jobs, and which job of each is under way. It is River's riverdriver.Listener:
// the drivers for database/sql listen to nothing.
type lanes struct {
	rung chan struct{} // has a value when there may be a job to take

	mu   sync.Mutex
	due  map[string]bool  // queues that were rung for, or had a due job, since the last look that found none
	busy map[string]int64 // the job under way, by queue
	// taken are the jobs whose ends are not stored yet, as they were taken.
	taken map[int64]*rivertype.JobRow
}

func newLanes() *lanes {
	return &lanes{rung: make(chan struct{}, 1), due: map[string]bool{}, busy: map[string]int64{},
		taken: map[int64]*rivertype.JobRow{}}
}

// ring notes that a queue may have due jobs.
func (l *lanes) ring(queue string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[queue] = true
	l.wakeLocked()
}

func (l *lanes) wakeLocked() {
	select {
	case l.rung <- struct{}{}:
	default:
	}
}

// look returns queues whose next job may be taken: at most that many, and no more than leave atOnce jobs under way. The
// caller looks at them now; a queue without a due job is returned again only after somebody rings for it.
func (l *lanes) look(most, atOnce int) (free []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most = min(most, atOnce-len(l.busy))
	for queue := range l.due {
		if len(free) >= most {
			break // the end of a job that is under way rings again
		}
		if _, busy := l.busy[queue]; busy {
			continue
		}
		free = append(free, queue)
	}
	for _, queue := range free {
		delete(l.due, queue)
	}
	return free
}

// took notes which jobs a look at these queues has taken, one of each at most, or that it has failed.
func (l *lanes) took(looked []string, jobs []*rivertype.JobRow, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		for _, queue := range looked {
			l.due[queue] = true
		}
	}
	for _, job := range jobs {
		l.busy[job.Queue], l.due[job.Queue], l.taken[job.ID] = job.ID, true, job
	}
}

// free notes that jobs are no longer under way.
func (l *lanes) free(jobs ...*rivertype.JobRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, job := range jobs {
		if l.busy[job.Queue] == job.ID {
			delete(l.busy, job.Queue)
			l.wakeLocked()
		}
	}
}

// jobs returns jobs that were taken, as they were then.
func (l *lanes) jobs(ids []int64) []*rivertype.JobRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*rivertype.JobRow, 0, len(ids))
	for _, id := range ids {
		if job := l.taken[id]; job != nil {
			all = append(all, job)
		}
	}
	return all
}

// forget notes that jobs are ended, or may be taken again.
func (l *lanes) forget(ids []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		delete(l.taken, id)
	}
}

// waiting reports whether a queue may have due jobs.
func (l *lanes) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due) > 0
}

// resting reports whether no job is under way, and none is due.
func (l *lanes) resting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due)+len(l.busy) == 0
}

// work is a middleware of River: it ends a job's turn when its attempt ends.
func (l *lanes) work(ctx context.Context, job *rivertype.JobRow, attempt func(context.Context) error) error {
	defer l.free(job)
	return attempt(ctx)
}

// WaitForNotification implements riverdriver.Listener.
func (l *lanes) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-l.rung:
		return &riverdriver.Notification{Topic: "river_insert", Payload: `{"queue": "` + everyQueue + `"}`}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements riverdriver.Listener.
func (*lanes) Close(context.Context) error { return nil }

// Connect implements riverdriver.Listener.
func (*lanes) Connect(context.Context) error { return nil }

// Listen implements riverdriver.Listener.
func (*lanes) Listen(context.Context, string) error { return nil }

// Ping implements riverdriver.Listener.
func (*lanes) Ping(context.Context) error { return nil }

// Schema implements riverdriver.Listener.
func (*lanes) Schema() string { return "" }

// SetAfterConnectExec implements riverdriver.Listener.
func (*lanes) SetAfterConnectExec(string) {}

// Unlisten implements riverdriver.Listener.
func (*lanes) Unlisten(context.Context, string) error { return nil }
