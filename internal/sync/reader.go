package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/alerts"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/turns"
	"reprise/internal/words"
)

// reader reads streams into the store.
type reader struct {
	opt   *options
	guard *Guard
	store Store
	bus   *events.Bus
	log   *slog.Logger
	last  *lastReads

	perils *perils
	habits *habits
}

// run is one run: it reads one stream of one connection as far as it may, and notes what came of it.
func (rd *reader) run(ctx context.Context, k Key) error {
	c, err := rd.store.Connection(ctx, k.User, k.Connection)
	if errors.Is(err, library.ErrNotFound) || err == nil && c.Paused {
		return nil
	}
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			rd.log.Error("connection cannot be loaded", "user_id", k.User, "provider", k.Connection, "err", err)
		}
		return err
	}
	mine := providers.Subject{Provider: rd.guard.opt.Registry.Get(c.Provider()), Connection: c}
	ctx, done, err := rd.guard.use(ctx, mine)
	if err != nil { // another server reads it now
		return nil
	}
	defer done()
	r := library.Run{User: k.User, Connection: k.Connection, Stream: k.Stream, Started: time.Now()}
	began, end := rd.opt.now().Began(ctx, k)
	subject := providers.OfConnection(c, k.Stream)
	err = rd.guard.Do(began, subject, func(ctx context.Context, call resilience.Call, a providers.Adapter) (err error) {
		rd.bus.Publish(c.User, events.Event{Type: events.Connection, Connection: c.ID})
		leave, err := rd.perils.enter(ctx, call.Turn, k)
		if err != nil {
			return err
		}
		defer leave()
		r.Rows, err = rd.read(ctx, call.Turn, c, k.Stream, a)
		return err
	})
	switch {
	case errors.Is(err, providers.ErrNotOffered): // it is no run: there is nothing to read
		err = nil
	case !refused(err):
		rd.habits.read(k, r.Started, r.Rows)
		r = rd.record(ctx, c, r, err)
	}
	end(r)
	return err
}

// read reads a stream, and returns how many rows that brought; [providers.ErrNotOffered] if the server does not offer
// it.
func (rd *reader) read(
	ctx context.Context, turn *turns.Turn, c library.Connection, stream string, a providers.Adapter,
) (rows int, err error) {
	switch stream {
	case library.Listens:
		source, ok := a.(providers.ListenSource)
		if !ok {
			return 0, fmt.Errorf("%s: adapter reads no listens", c.ID)
		}
		rows, err = rd.readListens(ctx, turn, c, source)
	case library.Playlists:
		source, ok := a.(providers.PlaylistSource)
		if !ok {
			return 0, fmt.Errorf("%s: adapter reads no playlists", c.ID)
		}
		rows, err = rd.readPlaylists(ctx, c, source)
	case library.Loves:
		source, ok := a.(providers.LoveSource)
		if !ok {
			return 0, fmt.Errorf("%s: adapter reads no loved tracks", c.ID)
		}
		rows, err = rd.readLoves(ctx, c, source)
	case library.Songs:
		source, ok := a.(providers.SongSource)
		if !ok {
			return 0, fmt.Errorf("%s: adapter reads no library", c.ID)
		}
		rows, err = rd.readSongs(ctx, c, source)
	default:
		return 0, fmt.Errorf("%s: no such stream: %q", c.ID, stream)
	}
	if errors.Is(err, providers.ErrNotOffered) {
		return 0, cmp.Or(rd.noteLack(ctx, c, stream), err)
	}
	if err == nil {
		rd.last.offered(Key{c.User, c.ID, stream})
	}
	return rows, err
}

// AddPlayer is the note of a connection whose server does not say what was played on it.
var AddPlayer = words.New("sync.no_plays")

// noteLack notes that a connection's server does not offer a stream, and says so on its page. What has been read once
// is asked for with each run all the same: a proxy may have answered in the server's place.
func (rd *reader) noteLack(ctx context.Context, c library.Connection, stream string) error {
	p := rd.guard.opt.Registry.Get(c.Provider())
	note := words.New("sync.no_playlists")
	switch stream {
	case library.Loves:
		note = words.New("sync.no_loves")
		if p != nil && p.OAuth != nil { // it was allowed before Reprise asked for this
			note = words.New("sync.no_loves_allowed")
		}
	case library.Songs:
		note = words.New("sync.no_songs")
	case library.Listens:
		note = words.New("sync.no_listens")
		switch {
		case p != nil && p.Takes.Library: // people play there
			note = AddPlayer
		case p != nil && p.Takes.Listens != "":
			note = words.New("sync.listens_only_in")
		}
	}
	position, err := rd.store.Position(ctx, c.User, c.ID, stream)
	if err != nil {
		return err
	}
	if !hasRead(stream, position) {
		position = library.NotOffered
		rd.last.lack(Key{c.User, c.ID, stream}, time.Now())
	}
	return rd.store.SavePosition(ctx, c.User, c.ID, stream, position, note)
}

// hasRead reports whether a position says that a stream has brought something.
func hasRead(stream, text string) bool {
	if stream != library.Listens {
		return text != "" && text != library.NotOffered
	}
	p, err := parsePosition(text)
	return err == nil && !p.High.IsZero()
}

// record stores what a run came to. One that was refused, or that we ended ourselves, is not shown to people.
func (rd *reader) record(ctx context.Context, c library.Connection, r library.Run, err error) library.Run {
	r.Took = time.Since(r.Started)
	v := resilience.VerdictOf(err)
	r.Result, r.Category = v.Class.String(), v.Category.String()
	if v.Failed() {
		state := stateAfter(err)
		if state.Kind == backoff.Stopped {
			r.Result = resilience.Fatal.String()
		}
		r.Detail = resilience.Excerpt(err.Error())
		p := rd.guard.opt.Registry.Get(c.Provider())
		r.Words = notify.Explain(p, c, notify.Trouble{State: state, Stream: r.Stream,
			Advice: alerts.AdviceOf(err)}).Title
	}
	rd.opt.now().Metrics.Run(c.Provider(), r.Stream, r.Result, r.Took)
	if v.Class == resilience.Canceled {
		return r
	}
	if err := rd.store.SaveRun(context.WithoutCancel(ctx), r); err != nil {
		rd.log.Error("run cannot be kept", "user_id", r.User, "provider", c.Provider(), "stream", r.Stream, "err", err)
	}
	return r
}

// stateAfter returns the state of a stream after a run that ended with err.
func stateAfter(err error) backoff.State {
	if f, ok := errors.AsType[*backoff.Failure](err); ok {
		return f.Change.Stream
	}
	return backoff.State{}
}

// refused reports whether a run was not allowed to begin.
func refused(err error) bool {
	e, ok := errors.AsType[*backoff.NotBeforeError](err)
	return ok && e.Endpoint == ""
}

// endsSoon reports whether a tenth or less of a run's time is left, so that it is better to stop than to be cut off.
func (rd *reader) endsSoon(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < rd.opt.now().RunTimeout/10
}

// lastRead is what is known of the latest reading of a connection's listens.
type lastRead struct {
	begun   time.Time // when the latest run that read to the end began
	history bool      // some of the history is still to be read
	asked   int       // how often somebody has waited for a reading since
	page    uint64    // the fingerprint of the latest page that was stored; 0 for none
	lacks   time.Time // when the server said last that it does not offer the stream; zero if it does
	audit   time.Time // before, no month of the history is due to be compared
}

// lastReads are those of all streams of listens since the start, and what is not offered of any stream.
type lastReads struct {
	mu sync.Mutex
	of map[Key]lastRead
}

func (l *lastReads) get(k Key) lastRead {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[k]
}

// finish notes that a run that began at begun has read to the end.
func (l *lastReads) finish(k Key, begun time.Time, history bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[k] = lastRead{begun: begun, history: history, page: l.of[k].page, audit: l.of[k].audit}
}

// lack notes that a server does not offer a stream.
func (l *lastReads) lack(k Key, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[k] = lastRead{lacks: at}
}

// offered forgets that a server did not offer a stream.
func (l *lastReads) offered(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.of[k]; !r.lacks.IsZero() {
		delete(l.of, k)
	}
}

// stored notes the page that a run has stored.
func (l *lastReads) stored(k Key, page uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[k]
	r.page = page
	l.of[k] = r
}

// audited notes when a month of the history may be due to be compared again.
func (l *lastReads) audited(k Key, again time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[k]
	r.audit = again
	l.of[k] = r
}

// ask counts a person who waits for a reading.
func (l *lastReads) ask(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[k]
	r.asked++
	l.of[k] = r
}

// anew resets the count of ask, because a person has started a reading.
func (l *lastReads) anew(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.of[k]
	r.asked = 0
	l.of[k] = r
}

func (l *lastReads) forget(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, k)
}
