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
	most      = 3    // open imports of one person
	atOnce    = 1000 // plays that are stored together
	rowsAtOne = 5000 // rows that are read between two saves at the most
	tellEvery = 250 * time.Millisecond
	tryAgain  = time.Minute // after trouble with the disk or the database
	fileClock = time.Minute // by how much the times of files may be behind
	lookAt    = 1000        // rows of an entry that are looked at before a file is taken
)

// Runner takes files in and reads them. Make it with New, and run it with Run. Safe for concurrent use.
type Runner struct {
	dir     string
	store   Store
	bus     *events.Bus
	log     *slog.Logger
	counted func(provider string, added, known int)
	since   time.Time // files from before are another process's
	wake    chan struct{}

	mu        sync.Mutex
	receiving map[int64]bool // people who are sending a file
}

// New returns a Runner that keeps files in dir until they have been read. It calls counted, unless that is nil, with the
// numbers of listens that it has stored and of plays that were stored before.
func New(dir string, store Store, bus *events.Bus, log *slog.Logger,
	counted func(provider string, added, known int)) *Runner {
	return &Runner{dir: dir, store: store, bus: bus, log: log, counted: counted, since: time.Now().Add(-fileClock),
		wake: make(chan struct{}, 1), receiving: map[int64]bool{}}
}

// Receive stores a file that a person sends and looks whether it is an export of the provider. It returns the import
// that will read it; a *RefusedError, ErrTooLarge or ErrBusy when it is not taken, and then nothing is left of it.
func (r *Runner) Receive(ctx context.Context, user int64, provider, name string, body io.Reader) (v Import, err error) {
	f, ok := formats[provider]
	if !ok {
		return v, &RefusedError{Problem: "Choose the service whose export this is: Spotify, Last.fm or ListenBrainz."}
	}
	if !r.begin(user) {
		return v, ErrBusy
	}
	defer r.end(user)
	file, size, err := r.keep(body)
	if err != nil {
		return v, err
	}
	path := filepath.Join(r.dir, file)
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
	v, err = r.store.AddImport(ctx, Import{User: user, Provider: provider, Name: name, File: file, Size: size, State: Waiting, BytesAll: total, CreatedAt: time.Now()}, most)
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

// keep writes what is sent to a file of its own.
func (r *Runner) keep(body io.Reader) (name string, size int64, err error) {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return "", 0, trouble(err)
	}
	name = rand.Text()
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// disk tells the troubles of the disk from those of whoever sends.
type disk struct{ f *os.File }

func (d disk) Write(p []byte) (int, error) {
	n, err := d.f.Write(p)
	return n, trouble(err)
}

func trouble(err error) error {
	if err == nil {
		return nil
	}
	return &resilience.LocalError{Problem: "The file cannot be kept in the data directory. Make room on its disk, or check its permissions; nothing was imported.", Err: err}
}

// cleanName is the last part of a file's name, as it can be shown.
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

// check looks into a file before it is taken, and returns how many bytes are in it. It is a *RefusedError unless at least
// one row is what it should be.
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

// each reads the rows of an entry.
func (e *entry) each(f format, take func(*meter, row) bool) error {
	in, err := e.open()
	if err != nil {
		return err
	}
	defer in.Close()
	m := newMeter(in, e.size)
	return f.read(m, func(v row) bool { return take(m, v) })
}

// Run reads the files that wait, one after the other, until ctx ends. What it was reading goes on at the next Run.
func (r *Runner) Run(ctx context.Context) error {
	r.sweep(ctx)
	for ctx.Err() == nil {
		v, err := r.store.NextImport(ctx)
		if err == nil {
			if err = r.read(ctx, v); err == nil {
				continue
			}
		}
		if !errors.Is(err, library.ErrNotFound) && ctx.Err() == nil {
			r.log.Error("import cannot go on", "user_id", v.User, "provider", v.Provider, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-time.After(tryAgain):
		}
	}
	return nil
}

// sweep removes what earlier processes left behind.
func (r *Runner) sweep(ctx context.Context) {
	kept, err := r.store.KeptFiles(ctx)
	if err != nil {
		return // the next start does it
	}
	files, _ := os.ReadDir(r.dir) // there may be none
	for _, f := range files {
		if info, err := f.Info(); err == nil && !kept[f.Name()] && info.ModTime().Before(r.since) {
			_ = os.Remove(filepath.Join(r.dir, f.Name()))
		}
	}
}

// read reads one file to its end. It returns an error when that is to be tried again.
func (r *Runner) read(ctx context.Context, v Import) (err error) {
	j := &job{r: r, v: v, at: v}
	defer func() {
		if p := recover(); p != nil { // a file must not bring the server down, now and after every restart
			r.log.Error("import panicked", "user_id", v.User, "provider", v.Provider, "err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = j.fail(ctx, "The file brought the import down; the server's log says how.")
		}
	}()
	e, err := openExport(filepath.Join(r.dir, v.File), v.Name, formats[v.Provider])
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
	_ = os.Remove(filepath.Join(r.dir, v.File)) // if it stays, the next start sweeps it away
	r.tell(v)
}

// Cancel ends an import that is under way, or forgets one that has ended. What it has brought stays.
func (r *Runner) Cancel(ctx context.Context, user, id int64) error {
	v, err := r.store.CancelImport(ctx, user, id)
	if err == nil {
		r.forget(v)
	}
	return err
}

// tell lets those look who watch.
func (r *Runner) tell(v Import) {
	r.bus.Publish(v.User, events.Event{Type: events.Imports, Provider: v.Provider})
}
