// Package backups copies the database: when an administrator asks for it, or each night, into a folder or into
// S3-compatible storage, where it keeps a number of copies. Every 30 days it tries whether the latest one can be
// restored. It tells the administrators once when there is no copy, or when one could not be made or restored.
//
// A database in Postgres is copied with its own tools: nothing here does anything then.
package backups

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/events"
	"reprise/internal/notify"
)

const (
	lookEvery = 10 * time.Minute // whether a copy or a trial is due
	atHour    = 3                // of the night, in the server's time zone: few people listen then
	againIn   = time.Hour        // after one that failed
	tryEvery  = 30 * 24 * time.Hour
	// warnAfter is how old the latest copy may be, or an installation without one, before administrators hear of it.
	warnAfter = 7 * 24 * time.Hour
	// spare is how much room on the disk a copy leaves at least, in bytes.
	spare = 64 << 20
)

// Store keeps what is known about backups beside the copies themselves.
type Store interface {
	BackupRecord(context.Context) (string, error)
	KeepBackupRecord(context.Context, string) error
}

// Options are what Backups need. All are required.
type Options struct {
	Dir      datadir.Dir
	Store    Store
	Notifier *notify.Notifier
	Bus      *events.Bus
	Client   *http.Client // of calls to a storage
	Log      *slog.Logger
}

// Copy is a finished copy of the database.
type Copy struct {
	Name  string
	Made  time.Time
	Bytes int64
}

// record is what is stored about backups.
type record struct {
	Since   time.Time // when this installation first looked
	Tried   time.Time // when a copy was restored for trial; zero: never
	Of      string    // the name of that copy
	Listens int64     // that were there after the trial
	Failed  string    // why the trial failed; empty if it did not
}

// Status is what is known about backups now.
type Status struct {
	Possible bool // false for a database in Postgres
	Where    string
	Key      string // the file with the secret key, or the name of its setting
	Beside   bool   // the copies are in the data directory: on the same disk as the database
	Settings config.Backup
	Copies   []Copy // the newest first
	Listed   bool   // false while nobody knows which copies there are
	Running  bool   // a copy is made, or a trial is under way
	Failed   string // why the latest try to make a copy failed, in English; empty if it did not
	FailedAt time.Time
	Tried    time.Time
	Of       string // the copy that was tried
	Listens  int64  // that were there after the trial
	Trial    string // why the trial failed, in English; empty if it did not
}

// ErrBusy is returned while a copy is made or tried.
var ErrBusy = errors.New("a copy is being made or tried")

// Backups makes, keeps and tries copies. Make it with New; safe for concurrent use.
type Backups struct {
	opt   Options
	asked chan job

	mu     sync.Mutex
	now    config.Backup
	status Status
	record record
	told   trouble // what the administrators have been told since the start; of Run alone
}

// job is something that takes long.
type job int

const (
	look job = iota // only what is due
	copying
	trying
)

// New returns Backups with these settings.
func New(o Options, settings config.Backup) *Backups {
	b := &Backups{opt: o, asked: make(chan job, 1), told: unknown}
	b.Configure(settings)
	return b
}

// Configure changes the settings.
func (b *Backups) Configure(settings config.Backup) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if settings == b.now && b.status.Where != "" {
		return
	}
	b.now = settings
	b.status = Status{Possible: b.opt.Dir.DatabaseURL == "", Settings: settings, Running: b.status.Running,
		Where: placeOf(settings, b.opt).String(), Key: b.opt.Dir.KeptKey(),
		Beside: settings.Bucket.Address == "" && settings.Folder == ""}
	select {
	case b.asked <- look:
	default:
	}
}

// Status returns what is known now. The copies are those of the latest look, at most ten minutes ago.
func (b *Backups) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	s.Copies = slices.Clone(s.Copies)
	s.Tried, s.Of, s.Listens, s.Trial = b.record.Tried, b.record.Of, b.record.Listens, b.record.Failed
	return s
}

// Make has a copy made, and returns at once. The error is ErrBusy while one is made.
func (b *Backups) Make() error { return b.ask(copying) }

// Try has the latest copy restored for trial, and returns at once. The error is ErrBusy as of Make.
func (b *Backups) Try() error { return b.ask(trying) }

func (b *Backups) ask(j job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status.Running {
		return ErrBusy
	}
	select {
	case <-b.asked: // a look, which every job begins with
	default:
	}
	b.asked <- j
	b.status.Running = true
	return nil
}

// Open opens a finished copy. The caller closes it. The error is an fs.ErrNotExist if there is none of this name.
func (b *Backups) Open(ctx context.Context, name string) (io.ReadCloser, Copy, error) {
	return b.place().Open(ctx, name)
}

func (b *Backups) place() place {
	b.mu.Lock()
	defer b.mu.Unlock()
	return placeOf(b.now, b.opt)
}

// Run makes copies and tries them until ctx ends.
func (b *Backups) Run(ctx context.Context) error {
	if b.opt.Dir.DatabaseURL != "" {
		<-ctx.Done()
		return nil
	}
	text, err := b.opt.Store.BackupRecord(ctx)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &b.record)
	}
	if err != nil && ctx.Err() == nil {
		b.opt.Log.Warn("what is known about backups cannot be read", "err", err)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		j := look
		select {
		case <-ctx.Done():
			return nil
		case j = <-b.asked:
		case <-tick.C:
		}
		b.do(ctx, j)
	}
}

// do does what was asked for, and what is due.
func (b *Backups) do(ctx context.Context, j job) {
	now := time.Now()
	b.list(ctx)
	s := b.Status()
	if j == copying || j == look && s.Settings.Daily && due(s, now) {
		b.running(true)
		b.failed(ctx, b.copy(ctx, now))
		b.list(ctx)
	}
	s = b.Status()
	again := s.Trial != "" && len(s.Copies) > 0 && s.Copies[0].Name != s.Of // a newer one may be sound
	if len(s.Copies) > 0 && (j == trying || again || now.Sub(s.Tried) >= tryEvery) {
		b.running(true)
		b.try(ctx, now, s.Copies[0])
	}
	b.running(false)
	if err := b.tell(ctx, now); err != nil && ctx.Err() == nil {
		b.opt.Log.Error("administrators cannot be told about backups", "err", err)
	}
}

// due reports whether no copy was made since the latest night, and the latest failure is long enough ago.
func due(s Status, now time.Time) bool {
	night := time.Date(now.Year(), now.Month(), now.Day(), atHour, 0, 0, 0, now.Location())
	if now.Before(night) {
		night = night.AddDate(0, 0, -1)
	}
	return now.Sub(s.FailedAt) >= againIn && (len(s.Copies) == 0 || s.Copies[0].Made.Before(night))
}

func (b *Backups) running(yes bool) {
	b.mu.Lock()
	was := b.status.Running
	b.status.Running = yes || len(b.asked) > 0 // what was asked for meanwhile comes next
	b.mu.Unlock()
	if was || yes {
		b.opt.Bus.PublishAll(events.Event{Type: events.Backups})
	}
}

// failed notes how the latest copy went.
func (b *Backups) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil { // the server stops, and makes it after the next start
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.Failed, b.status.FailedAt = "", time.Time{}
	if err != nil {
		b.status.Failed, b.status.FailedAt = err.Error(), time.Now()
		b.opt.Log.Error("the database cannot be copied", "to", b.status.Where, "err", err)
	}
}

// list reads which copies there are.
func (b *Backups) list(ctx context.Context) {
	in := b.place()
	all, err := newestFirst(ctx, in)
	if err != nil {
		if ctx.Err() == nil {
			b.opt.Log.Warn("the copies of the database cannot be listed", "in", in.String(), "err", err)
		}
		return
	}
	b.mu.Lock()
	b.status.Copies, b.status.Listed = all, true
	b.mu.Unlock()
}

func newestFirst(ctx context.Context, in place) ([]Copy, error) {
	all, err := in.List(ctx)
	slices.SortFunc(all, func(x, y Copy) int { return y.Made.Compare(x.Made) })
	return all, err
}

// copy makes a copy, and removes the oldest ones above the number that is kept.
func (b *Backups) copy(ctx context.Context, now time.Time) error {
	key, err := b.opt.Dir.Key(ctx)
	if err != nil {
		return err
	}
	in := b.place()
	if err := in.Keep(ctx, nameOf(key.ID(), now)); err != nil {
		return err
	}
	b.opt.Log.Info("the database was copied", "to", in.String(), "took", time.Since(now))
	all, err := newestFirst(ctx, in)
	if err != nil {
		return err
	}
	keep := b.Status().Settings.Keep
	for _, old := range all[min(keep, len(all)):] {
		err = errors.Join(err, in.Remove(ctx, old.Name))
	}
	return err
}

// try restores a copy into a folder of its own, and notes how that went.
func (b *Backups) try(ctx context.Context, now time.Time, c Copy) {
	listens, err := b.restore(ctx, c)
	if err != nil && ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	b.record.Tried, b.record.Of, b.record.Listens, b.record.Failed = now, c.Name, listens, ""
	if err != nil {
		b.record.Failed = err.Error()
	}
	b.mu.Unlock()
	if err != nil {
		b.opt.Log.Error("a copy of the database cannot be restored", "copy", c.Name, "err", err)
	} else {
		b.opt.Log.Info("a copy of the database was restored for trial", "copy", c.Name, "listens", listens)
	}
	b.remember(ctx)
}

func (b *Backups) restore(ctx context.Context, c Copy) (listens int64, err error) {
	if err := room(b.opt.Dir.Path, 2*c.Bytes); err != nil {
		return 0, err
	}
	file, done, err := b.place().Fetch(ctx, c.Name)
	if err != nil {
		return 0, err
	}
	listens, err = b.opt.Dir.Try(ctx, file)
	return listens, errors.Join(err, done())
}

// remember stores the record.
func (b *Backups) remember(ctx context.Context) {
	b.mu.Lock()
	text, _ := json.Marshal(b.record) // strings, numbers and times
	b.mu.Unlock()
	if err := b.opt.Store.KeepBackupRecord(ctx, string(text)); err != nil && ctx.Err() == nil {
		b.opt.Log.Error("what is known about backups cannot be stored", "err", err)
	}
}

// folderOf returns the folder of the copies that the settings name.
func folderOf(s config.Backup, dir datadir.Dir) string {
	if s.Folder != "" {
		return s.Folder
	}
	return filepath.Join(dir.Path, "backups")
}
