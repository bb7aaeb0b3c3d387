package imports

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/resilience"
)

const (
	maxOpen   = 3    // imports of one person
	atOnce    = 1000 // plays stored in one transaction
	rowsAtOne = 5000 // rows read between two transactions at the most
	tellEvery = 250 * time.Millisecond
	tryAgain  = time.Minute // wait after a failure of the disk or the database
	fileClock = time.Minute // how far the clock of the files may be behind
	lookAt    = 1000        // rows of an entry to check before a file is accepted
)

// Config is what a Runner works with.
type Config struct {
	Dir   string // of the files until they have been read
	Store Store
	Bus   *events.Bus
	Log   *slog.Logger
	// Counted is called with the numbers of new listens and of known plays that were stored; nil when nobody asks.
	Counted func(provider string, added, known int)
}

// Runner receives files and reads them. Make it with New, and run it with Run. It is safe for concurrent use.
type Runner struct {
	c     Config
	since time.Time // older files belong to an earlier process
	wake  chan struct{}

	mu        sync.Mutex
	receiving map[int64]bool // people who are sending a file
}

// New returns a Runner.
func New(c Config) *Runner {
	since := time.Now().Add(-fileClock)
	return &Runner{c: c, since: since, wake: make(chan struct{}, 1), receiving: map[int64]bool{}}
}

// Receive stores a file that a person sends and checks that it is an export of the provider. It returns the import that
// will read it. If it returns an error, such as a *RefusedError, ErrTooLarge or ErrBusy, nothing is stored.
func (r *Runner) Receive(
	ctx context.Context, user int64, conn library.ConnectionID, name string, body io.Reader,
) (v Import, err error) {
	f, ok := formats[conn.Provider()]
	if !ok {
		return v, &RefusedError{Problem: "Choose the service whose export this is."}
	}
	if !r.begin(user) {
		return v, ErrBusy
	}
	defer r.end(user)
	file, size, err := r.keep(body)
	if err != nil {
		return v, err
	}
	path := filepath.Join(r.c.Dir, file)
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	name = cleanName(name)
	total, err := check(path, name, f)
	if err != nil {
		return v, err
	}
	v, err = r.c.Store.AddImport(ctx, Import{
		User:       user,
		Connection: conn,
		Name:       name,
		File:       file,
		Size:       size,
		State:      Waiting,
		BytesAll:   total,
		CreatedAt:  time.Now(),
	}, maxOpen)
	if err != nil {
		return v, err
	}
	r.tell(v)
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return v, nil
}

func (r *Runner) begin(user int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receiving[user] {
		return false
	}
	r.receiving[user] = true
	return true
}

func (r *Runner) end(user int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.receiving, user)
}

// keep writes a body to a new file.
func (r *Runner) keep(body io.Reader) (name string, size int64, err error) {
	if err := os.MkdirAll(r.c.Dir, 0o700); err != nil {
		return "", 0, trouble(err)
	}
	name = rand.Text()
	f, err := os.OpenFile(filepath.Join(r.c.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, trouble(err)
	}
	size, err = io.Copy(disk{f}, io.LimitReader(body, MaxFile+1))
	if err == nil && size > MaxFile {
		err = ErrTooLarge
	}
	if err = errors.Join(err, trouble(f.Sync()), trouble(f.Close())); err != nil {
		_ = os.Remove(f.Name())
	}
	return name, size, err
}

// disk marks errors of the disk, to tell them from errors of the sender.
type disk struct{ f *os.File }

func (d disk) Write(p []byte) (int, error) {
	n, err := d.f.Write(p)
	return n, trouble(err)
}

func trouble(err error) error {
	if err == nil {
		return nil
	}
	return &resilience.LocalError{
		Problem: "The file cannot be kept in the data directory. " +
			"Make room on its disk, or check its permissions; nothing was imported.",
		Err: err,
	}
}

// cleanName returns the last part of a path, fit to be shown.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if letters := []rune(name); len(letters) > 120 {
		name = string(letters[:120])
	}
	if name == "" {
		return "export"
	}
	return name
}

// check looks into a file and returns its unpacked size. It returns a *RefusedError unless at least one row can be
// read.
func check(path, name string, f format) (total int64, err error) {
	e, err := openExport(path, name, f)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	why := ""
	for _, entry := range e.entries {
		good, rows := false, 0
		err := entry.each(f, func(_ *meter, v row) bool {
			rows++
			good = v.bad == ""
			if why == "" {
				why = v.bad
			}
			return !good && rows < lookAt
		})
		if good {
			return e.total, nil
		}
		if why == "" && err != nil && !errors.Is(err, errStop) {
			why = inWords(err)
		}
	}
	problem := "This file cannot be imported"
	if why != "" {
		problem += ": " + why
	}
	return 0, &RefusedError{Problem: problem + ". " + f.expected}
}

// each calls take with every row of an entry.
func (e *entry) each(f format, take func(*meter, row) bool) error {
	in, err := e.open()
	if err != nil {
		return err
	}
	defer in.Close()
	m := newMeter(in, e.size)
	return f.read(m, func(v row) bool { return take(m, v) })
}

// Run reads the waiting files, one after the other, until ctx ends. The next Run continues.
func (r *Runner) Run(ctx context.Context) error {
	r.sweep(ctx)
	for ctx.Err() == nil {
		v, err := r.c.Store.NextImport(ctx)
		if err == nil {
			if err = r.read(ctx, v); err == nil {
				continue
			}
		}
		if !errors.Is(err, library.ErrNotFound) && ctx.Err() == nil {
			r.c.Log.Error("import cannot go on", "user_id", v.User, "provider", v.Connection, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-time.After(tryAgain):
		}
	}
	return nil
}

// sweep removes files that earlier processes have left behind.
func (r *Runner) sweep(ctx context.Context) {
	kept, err := r.c.Store.KeptFiles(ctx)
	if err != nil {
		return // the next start tries again
	}
	files, _ := os.ReadDir(r.c.Dir) // the folder may not exist yet
	for _, f := range files {
		if info, err := f.Info(); err == nil && !kept[f.Name()] && info.ModTime().Before(r.since) {
			_ = os.Remove(filepath.Join(r.c.Dir, f.Name()))
		}
	}
}

// read reads one file to its end. An error means that it is to be tried again.
func (r *Runner) read(ctx context.Context, v Import) (err error) {
	j := &job{r: r, v: v, at: v}
	defer func() {
		if p := recover(); p != nil { // a file must not crash the server at every start
			r.c.Log.Error("import panicked", "user_id", v.User, "provider", v.Connection,
				"err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = j.fail(ctx, "The file brought the import down; the server's log says how.")
		}
	}()
	e, err := openExport(filepath.Join(r.c.Dir, v.File), v.Name, formats[v.Connection.Provider()])
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return j.fail(ctx, refused.Problem)
	}
	if errors.Is(err, os.ErrNotExist) {
		return j.fail(ctx, "The file is no longer in the data directory. Choose it once more.")
	}
	if err != nil {
		return err
	}
	defer e.Close()
	err = j.read(ctx, e)
	if errors.Is(err, library.ErrNotFound) { // canceled
		r.forget(j.v)
		return nil
	}
	return err
}

func (r *Runner) forget(v Import) {
	_ = os.Remove(filepath.Join(r.c.Dir, v.File)) // on failure, the next start removes it
	r.tell(v)
}

// Cancel ends an open import, or deletes one that has ended. Its listens stay.
func (r *Runner) Cancel(ctx context.Context, user, id int64) error {
	v, err := r.c.Store.CancelImport(ctx, user, id)
	if err == nil {
		r.forget(v)
	}
	return err
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
