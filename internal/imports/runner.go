package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/sync/semaphore"

	"reprise/internal/events"
	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/queue"
	"reprise/internal/words"
)

const (
	maxOpen    = 3    // imports of one person
	maxReaders = 16   // people whose files are open at once
	atOnce     = 1000 // plays stored in one transaction
	rowsAtOne  = 5000 // rows read between two transactions at the most
	tellEvery  = 250 * time.Millisecond
	tryAgain   = time.Minute // wait after a failure that is not understood
	fileClock  = time.Minute // how far the clock of the files may be behind
	maxCrashes = 3           // ends of the process until an import is set aside
)

// Notifier opens and closes notifications. It is implemented by notify.Notifier.
type Notifier interface {
	Open(context.Context, notify.Notification) error
	Resolve(ctx context.Context, user int64, conn library.ConnectionID, causes ...string) error
}

// ListenBytes is Config.RowBytes for a database in the same folder: more than the 180 bytes that a listen takes with
// its source, their indexes and its song, because the write-ahead log needs room meanwhile.
const ListenBytes = 310

// Config is what a Runner works with.
type Config struct {
	Files    Files
	Store    Store
	Bus      *events.Bus
	Notifier Notifier       // nil for none
	Apps     *leases.Holder // which says whose files are read here; nil for everybody's
	Log      *slog.Logger
	// Counted, if not nil, is called with the numbers of new and of known listens that were stored. Exports of Reprise
	// are not counted, because their listens belong to no single provider.
	Counted func(provider string, added, known int)
	// Free returns the room on the disk of Files, in bytes; nil when they are in a database elsewhere.
	Free func() (bytes int64, known bool)
	// RowBytes is the room that a listen takes on that disk, in bytes; 0 when the database is elsewhere.
	RowBytes int64
}

// Runner receives files and reads them. Make it with New, and run it with Run. It is safe for concurrent use.
type Runner struct {
	c       Config
	since   time.Time // older files belong to an earlier process
	maxRows int
	turn    *semaphore.Weighted // of the one import that is being read; first come, first served
	waiting atomic.Int32        // imports that wait for their turn

	mu        sync.Mutex
	receiving map[int64]bool       // people who are sending a file
	waits     map[int64]time.Time  // when the imports of a person may go on after a failure
	trouble   map[int64]words.Text // why an import waits, by its ID
	elsewhere func(id int64) words.Text
}

// New returns a Runner.
func New(c Config) *Runner {
	return &Runner{
		c:         c,
		since:     time.Now().Add(-fileClock),
		maxRows:   maxRows,
		turn:      semaphore.NewWeighted(1),
		receiving: map[int64]bool{},
		waits:     map[int64]time.Time{},
		trouble:   map[int64]words.Text{},
	}
}

// Job asks for a person's oldest open import to be read.
type Job struct {
	User int64 `json:"user"`
}

// Kind implements river.JobArgs.
func (Job) Kind() string { return "import" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (j Job) InsertOpts() river.InsertOpts { return queue.Unique(j) }

// Run reads the waiting files until ctx ends. The next Run continues.
func (r *Runner) Run(ctx context.Context) error {
	r.sweep(ctx)
	return queue.Work(ctx, r.c.Store.Queue(), queue.Crew[Job]{Work: r.work, AtOnce: maxReaders,
		Due: r.due, Log: r.c.Log,
		Failed: func(err error) { r.c.Log.Error("imports cannot be looked up", "err", err) }})
}

// look has Run look for open imports.
func (r *Runner) look() { r.c.Store.Queue().Look(Job{}.Kind()) }

// pending returns the open imports that are read here and do not wait for their person, the oldest first.
func (r *Runner) pending(ctx context.Context) ([]Import, error) {
	open, err := r.c.Store.OpenImports(ctx)
	return slices.DeleteFunc(open, func(v Import) bool {
		return v.State == Ready || !r.c.Apps.Holds(leases.ImportsOf(v.User))
	}), err
}

// due returns a job for each person with an open import that does not wait, and when the first that waits may go on.
func (r *Runner) due(ctx context.Context, _, now time.Time) (jobs []Job, next time.Time, err error) {
	all, err := r.pending(ctx)
	if err != nil {
		return nil, next, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range all {
		until, job := r.waits[v.User], Job{v.User}
		switch {
		case slices.Contains(jobs, job):
		case !until.After(now):
			jobs = append(jobs, job)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return jobs, next, nil
}

// work works a job. An import that cannot go on waits for a while.
func (r *Runner) work(ctx context.Context, job *river.Job[Job]) error {
	err := r.next(ctx, job.Args.User)
	r.mu.Lock()
	delete(r.waits, job.Args.User)
	if err != nil && ctx.Err() == nil {
		r.c.Log.Error("import cannot continue", "user_id", job.Args.User, "err", err)
		r.waits[job.Args.User] = time.Now().Add(tryAgain)
	}
	r.mu.Unlock()
	return queue.End(context.WithoutCancel(ctx), r.c.Store.Queue(), job)
}

// next reads a person's oldest open import, unless another server has to.
func (r *Runner) next(ctx context.Context, user int64) error {
	ctx, done, err := r.c.Apps.Use(ctx, leases.ImportsOf(user))
	if _, elsewhere := errors.AsType[*leases.Elsewhere](err); elsewhere {
		return nil
	}
	if err != nil {
		return err
	}
	defer done()
	all, err := r.pending(ctx)
	i := slices.IndexFunc(all, func(v Import) bool { return v.User == user })
	if i >= 0 {
		err = r.read(ctx, all[i])
	}
	if ctx.Err() == nil {
		return err
	}
	if i >= 0 { // another server goes on, and says what keeps it
		r.mu.Lock()
		delete(r.trouble, all[i].ID)
		r.mu.Unlock()
	}
	return nil
}

// sweep removes files that earlier processes have left behind. If that fails, the next start tries again.
func (r *Runner) sweep(ctx context.Context) {
	if needed, err := r.c.Store.KeptFiles(ctx); err == nil {
		_ = r.c.Files.Sweep(ctx, needed, r.since)
	}
}

// read reads one file to its end. An error means that it is to be tried again.
func (r *Runner) read(ctx context.Context, v Import) (err error) {
	j := &job{r: r, v: v, at: v}
	defer func() {
		if p := recover(); p != nil { // a file must not crash the server at every start
			r.c.Log.Error("import panicked", "user_id", v.User, "provider", v.Connection,
				"err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = j.fail(ctx, words.New("import.stopped.broke"))
		}
		err = errors.Join(err, j.leave(ctx))
		if errors.Is(err, library.ErrNotFound) { // canceled
			r.forget(ctx, j.v)
			err = nil
		}
	}()
	if v.Crashes >= maxCrashes {
		return j.fail(ctx, setAside(v))
	}
	if err := j.enter(ctx); err != nil {
		return err
	}
	f, err := r.c.Files.Open(ctx, v.File)
	if errors.Is(err, os.ErrNotExist) {
		return j.fail(ctx, words.New("import.stopped.gone"))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	e, err := listed(f, v.Name, formats[v.Connection.Provider()])
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return j.fail(ctx, refused.Problem)
	}
	if err != nil {
		return err
	}
	return j.read(ctx, e)
}

func (r *Runner) forget(ctx context.Context, v Import) {
	_ = r.c.Files.Remove(context.WithoutCancel(ctx), v.File) // on failure, the next start removes it
	r.mu.Lock()
	delete(r.trouble, v.ID)
	r.mu.Unlock()
	r.tell(v)
}

// Cancel ends an open import, or deletes one that has ended. Its listens stay.
func (r *Runner) Cancel(ctx context.Context, user, id int64) error {
	v, err := r.c.Store.CancelImport(ctx, user, id)
	if err != nil {
		return err
	}
	r.forget(ctx, v)
	if r.c.Notifier == nil {
		return nil
	}
	return r.c.Notifier.Resolve(ctx, v.User, v.Connection, cause(v))
}

// Explain stores what a person has said about a file that is ready, and has it looked at again. It returns a
// *RefusedError for answers that cannot be, and library.ErrNotFound if the person has no such file.
func (r *Runner) Explain(ctx context.Context, user, id int64, answers Answers) (Import, error) {
	if err := answers.Check(); err != nil {
		return Import{}, err
	}
	return r.change(ctx, user, id, func(v *Import) error {
		v.again()
		answers.Days = cmp.Or(answers.Days, v.Answers.Days)
		if v.Answers = answers; v.Question == AskDays && answers.Days == "" {
			return &RefusedError{Problem: words.New("import.refused.days")}
		}
		return nil
	})
}

// Start imports a file that is ready. It returns a *RefusedError if its question has to be answered first, and
// library.ErrNotFound if the person has no such file.
func (r *Runner) Start(ctx context.Context, user, id int64) (Import, error) {
	return r.change(ctx, user, id, func(v *Import) error {
		if !v.Looked() {
			return &RefusedError{Problem: words.New("import.refused.unanswered")}
		}
		v.again()
		v.Preview = false
		return nil
	})
}

// change changes an import that is ready.
func (r *Runner) change(ctx context.Context, user, id int64, change func(*Import) error) (Import, error) {
	v, err := r.c.Store.ChangeImport(ctx, user, id, func(v *Import) error {
		if v.State != Ready {
			return &RefusedError{Problem: words.New("import.refused.not_ready")}
		}
		return change(v)
	})
	if err != nil {
		return v, err
	}
	r.tell(v)
	r.look()
	return v, nil
}

// Leave cancels the imports of a person whose account is being removed. It may be called again.
func (r *Runner) Leave(ctx context.Context, user int64) error {
	all, err := r.c.Store.Imports(ctx, user)
	for _, v := range all {
		if !v.Open() {
			continue
		}
		if e := r.Cancel(ctx, user, v.ID); !errors.Is(e, library.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// tell publishes that an import has changed.
func (r *Runner) tell(v Import) {
	r.c.Bus.Publish(v.User, events.Event{Type: events.Imports, Connection: v.Connection})
}
