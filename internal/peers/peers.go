// Package peers keeps the servers of a database in step: what happens on one of them is seen on the others.
//
// What they tell each other is a hint to look at the database again, never the only copy of anything, except for what
// is playing now, which is worth nothing a moment later.
package peers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"reprise/internal/cluster"
	"reprise/internal/events"
	"reprise/internal/players"
	syncer "reprise/internal/sync"
)

// What servers tell each other about.
const (
	aboutEvents   = "event"    // on the bus
	aboutJobs     = "job"      // a kind of job whose alarm should look
	aboutPlaying  = "playing"  // what is playing now
	aboutPlays    = "plays"    // a server that has just begun asks what is playing
	aboutSettings = "settings" // they have changed
	aboutAll      = "all"      // look at everything again: another server leads
)

// Traffic counts the changes of the database; see traffic.Traffic.
type Traffic interface{ ChangedRemotely() }

// Queue is that of jobs; see queue.Queue.
type Queue interface {
	LookRemotely(look func(kind string))
	LookAfter(ctx context.Context, kind string) error
	LookAll()
}

// Store keeps the states of connections. Fits returns an error if the database is of another version now.
type Store interface {
	syncer.LiveStore
	Fits(context.Context) error
}

// Settings report whether they are still as this server has read them.
type Settings interface {
	Hold(context.Context) (bool, error)
}

// Connections are those of people; see sync.Connections.
type Connections interface {
	ReadRemote(syncer.LiveStore)
	SaveLive(ctx context.Context, store syncer.LiveStore, users ...int64) error
	SaveAllLive(context.Context, syncer.LiveStore) error
}

// Options are what a Peer is made of. All are required.
type Options struct {
	Notes       *cluster.Notes
	Leads       bool // this server calls the services; else another one does
	Bus         *events.Bus
	Playing     *players.Now
	Queue       Queue
	Traffic     Traffic
	Connections Connections
	Store       Store
	Settings    Settings
	Log         *slog.Logger
	// Restart has a follower begin again with what is in the database, because something doesn't hold any more.
	Restart func()
}

// Peer is a server among those of a database.
type Peer struct {
	Options
	out  chan userEvent // events that the leader has published
	jobs chan string    // kinds of jobs whose alarm should look
	over chan struct{}  // closed when Run has ended
	late bool           // states of connections could not be saved at once; used by tell alone
}

// userEvent is an event on the bus of another server.
type userEvent struct {
	User  int64         `json:"u,omitempty"` // 0 for everybody
	Event events.Event  `json:"e"`
	done  chan struct{} // instead of an event: closed when those before it have been sent
}

// How many events of the leader, and kinds of jobs, wait at most.
const eventsWait, jobsWait = 4096, 64

// Join connects this server with the others: from now on they hear what it does. Call it before anything is published,
// and then call Run.
func Join(o Options) *Peer {
	p := &Peer{Options: o, out: make(chan userEvent, eventsWait), jobs: make(chan string, jobsWait),
		over: make(chan struct{})}
	o.Bus.Follow(p.published)
	o.Playing.Follow(func(t players.Turn) { o.Notes.Tell(aboutPlaying, t) })
	if !o.Leads {
		o.Connections.ReadRemote(o.Store)
		o.Queue.LookRemotely(func(kind string) { o.Notes.Tell(aboutJobs, kind) })
	}
	return p
}

// published tells the other servers of an event, in the order of all events. What they show of a connection is saved
// before that.
func (p *Peer) published(user int64, e events.Event) {
	one := userEvent{User: user, Event: e}
	if !p.Leads {
		p.Notes.Tell(aboutEvents, one)
		return
	}
	select {
	case p.out <- one:
	default:
		p.Notes.Lose()
	}
}

// Changed tells the other servers that the settings have changed.
func (p *Peer) Changed() { p.Notes.Tell(aboutSettings, nil) }

// Run hears what the other servers tell until ctx ends. Call it once.
func (p *Peer) Run(ctx context.Context) error {
	defer close(p.over)
	hear := p.Notes.Hear
	defer hear(aboutEvents, p.hearEvent)()
	defer hear(aboutPlaying, p.hearPlaying)()
	defer hear(aboutPlays, func(json.RawMessage) { p.Playing.TellAgain() })()
	defer p.Notes.Missed(func() { p.lookAgain(ctx) })()
	if p.Leads {
		defer hear(aboutJobs, p.hearJob)()
		if err := p.Connections.SaveAllLive(ctx, p.Store); err != nil {
			return err
		}
		p.Notes.Tell(aboutAll, nil)
	} else {
		defer hear(aboutSettings, func(json.RawMessage) { p.check(ctx) })()
		defer hear(aboutAll, func(json.RawMessage) { p.lookAgain(ctx) })()
		p.check(ctx) // what has changed since it was read
	}
	p.Notes.Tell(aboutPlays, nil)
	var looking sync.WaitGroup
	looking.Go(func() { p.look(ctx) })
	p.tell(ctx)
	looking.Wait()
	return nil
}

// lookAgain has every part look at the database again: a note of another server may have got lost.
func (p *Peer) lookAgain(ctx context.Context) {
	p.Traffic.ChangedRemotely()
	p.Bus.CloseAll()
	if p.Leads {
		p.Queue.LookAll()
		return
	}
	p.check(ctx)
}

// check restarts this follower unless what it began with is still so.
func (p *Peer) check(ctx context.Context) {
	hold, err := p.Settings.Hold(ctx)
	if err = errors.Join(err, p.Store.Fits(ctx)); err != nil && ctx.Err() == nil {
		p.Log.Warn("this server opens the database again, because it can't go on as it is", "err", err)
	}
	if !hold || err != nil {
		p.Restart()
	}
}

// Flush returns when the other servers show everything that was done before it, so that nobody who asks another server
// after an answer sees older data. It gives up after flushWithin.
func (p *Peer) Flush(ctx context.Context) {
	if !p.Leads {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	mark := userEvent{done: make(chan struct{})}
	select {
	case p.out <- mark:
	case <-p.over:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-mark.done:
	case <-p.over:
	case <-ctx.Done():
	}
}

func (p *Peer) hearEvent(data json.RawMessage) {
	var v userEvent
	if p.read(data, &v) {
		p.Traffic.ChangedRemotely()
		p.Bus.Relay(v.User, v.Event)
	}
}

func (p *Peer) hearPlaying(data json.RawMessage) {
	var v players.Turn
	if p.read(data, &v) {
		p.Playing.Relay(v)
	}
}

func (p *Peer) hearJob(data json.RawMessage) {
	var kind string
	if !p.read(data, &kind) {
		return
	}
	p.Traffic.ChangedRemotely()
	select {
	case p.jobs <- kind:
	default: // as many looks are waiting
	}
}

// look has alarms look at what other servers have stored, until ctx ends.
func (p *Peer) look(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case kind := <-p.jobs:
			if err := p.Queue.LookAfter(ctx, kind); err != nil && ctx.Err() == nil {
				p.Log.Error("what another server has stored may be sent late", "err", err)
			}
		}
	}
}

func (p *Peer) read(data json.RawMessage, into any) bool {
	err := json.Unmarshal(data, into)
	if err != nil {
		p.Log.Error("what another server has told can't be read", "err", err)
	}
	return err == nil
}

const (
	// gatherFor is how long an event waits for others to be sent with it.
	gatherFor = 10 * time.Millisecond
	// saveWithin is how long events wait for the states of connections to be saved.
	saveWithin = 2 * time.Second
	// saveAgainAfter is how long to wait after they could not be saved.
	saveAgainAfter = time.Second
	// flushWithin is how long an answer waits for that.
	flushWithin = 3 * time.Second
)

// tell tells the other servers of what the leader publishes, and saves the states of connections that have changed,
// until ctx ends.
func (p *Peer) tell(ctx context.Context) {
	unsaved := map[int64]bool{} // people of whose connections the states have changed
	var again <-chan time.Time  // when to try again to save them
	for {
		var all []userEvent
		select {
		case <-ctx.Done():
			return
		case first := <-p.out:
			all = p.gather(ctx, first)
		case <-again:
		}
		for _, one := range all {
			if one.Event.Type == events.Connection {
				unsaved[one.User] = true
			}
		}
		again = nil
		if err := p.save(ctx, unsaved); err != nil && ctx.Err() == nil {
			p.Log.Warn("the other servers show old states of connections", "err", err)
			again = time.After(saveAgainAfter)
		}
		for _, one := range all {
			if one.done != nil {
				close(one.done)
			} else {
				p.Notes.Tell(aboutEvents, one)
			}
		}
	}
}

// gather returns an event and those that follow within a moment, or until somebody waits for them.
func (p *Peer) gather(ctx context.Context, first userEvent) []userEvent {
	all := []userEvent{first}
	soon := time.After(gatherFor)
	for all[len(all)-1].done == nil {
		select {
		case one := <-p.out:
			all = append(all, one)
		case <-soon:
			return all
		case <-ctx.Done():
			return all
		}
	}
	return all
}

// save saves the states of people's connections, and then forgets those people. If it took another try, all pages look
// again.
func (p *Peer) save(ctx context.Context, unsaved map[int64]bool) error {
	if len(unsaved) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveWithin)
	defer cancel()
	users := slices.Collect(maps.Keys(unsaved))
	if err := p.Connections.SaveLive(ctx, p.Store, users...); err != nil {
		p.late = true
		return err
	}
	clear(unsaved)
	if p.late {
		p.late = false
		p.Notes.Tell(aboutAll, nil)
	}
	return nil
}
