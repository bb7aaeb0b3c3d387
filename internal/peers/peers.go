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
	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/players"
	syncer "reprise/internal/sync"
)

// What servers tell each other about.
const (
	aboutEvents   = "event"    // on the bus
	aboutJobs     = "job"      // a kind of job whose alarm should look, when transactions have ended
	aboutStored   = "stored"   // a kind of job whose alarm should look
	aboutPlaying  = "playing"  // what is playing now
	aboutPlays    = "plays"    // a server that has just begun asks what is playing
	aboutSettings = "settings" // they have changed
	aboutChanges  = "changes"  // a request has changed something, perhaps without an event
	aboutBreaker  = "breaker"  // the endpoint of one that an administrator closes
	aboutAll      = "all"      // look at everything again: another server leads
)

// Traffic counts the changes of the database; see traffic.Traffic.
type Traffic interface{ ChangedRemotely() }

// Queue is that of jobs; see queue.Queue.
type Queue interface {
	Follow(tell func(kind string, stored bool))
	LookHere(kind string)
	LookAfter(ctx context.Context, kinds ...string) error
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
	Prepare(context.Context, []leases.Lease) error
	Begin(apps []string)
	Heard(ctx context.Context, user int64, conn library.ConnectionID)
	ReadRemote(syncer.LiveStore)
	SaveLive(ctx context.Context, store syncer.LiveStore, refs ...syncer.Ref) error
	SaveAllLive(ctx context.Context, store syncer.LiveStore, apps []string) error
}

// Options are what a Peer is made of. All are required.
type Options struct {
	Notes       *cluster.Notes
	Leads       bool // this server does what isn't shared out; else another one does
	Apps        *leases.Holder
	Endpoints   *Endpoints // of this server
	Bus         *events.Bus
	Playing     *players.Now
	Queue       Queue
	Traffic     Traffic
	Connections Connections
	Imports     Imports
	Store       Store
	Settings    Settings
	Log         *slog.Logger
	// Restart has a follower begin again with what is in the database, because something doesn't hold any more.
	Restart func()
}

// Peer is a server among those of a database.
type Peer struct {
	Options
	out   chan userEvent // events that this server has published
	jobs  chan string    // kinds of jobs whose alarm should look
	begun chan []string  // apps that this server has begun to call
	over  chan struct{}  // closed when Run has ended
	late  bool           // states of connections could not be saved at once; used by tell alone
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
		begun: make(chan []string, jobsWait), over: make(chan struct{})}
	o.Bus.Follow(p.published)
	o.Playing.Follow(func(t players.Turn) { o.Notes.Tell(aboutPlaying, t) })
	o.Endpoints.apps, o.Endpoints.notes = o.Apps, o.Notes
	o.Connections.ReadRemote(o.Store)
	o.Imports.ReadRemote(o.Endpoints.importTrouble)
	o.Queue.Follow(func(kind string, stored bool) {
		topic := aboutJobs
		if stored {
			topic = aboutStored
		}
		o.Notes.Tell(topic, kind)
	})
	return p
}

// Prepare implements leases.Engine.
func (p *Peer) Prepare(ctx context.Context, all []leases.Lease) error {
	return p.Connections.Prepare(ctx, all)
}

// Begin implements leases.Engine. What the server before has saved of these apps is replaced.
func (p *Peer) Begin(apps []string) {
	p.Connections.Begin(apps)
	p.Queue.LookAll()
	select {
	case p.begun <- apps:
	case <-p.over:
	}
}

// published tells the other servers of an event, in the order of all events. What they show of a connection is saved
// before that.
func (p *Peer) published(user int64, e events.Event) {
	one := userEvent{User: user, Event: e}
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
	defer hear(aboutEvents, func(data json.RawMessage) { p.hearEvent(ctx, data) })()
	defer hear(aboutPlaying, p.hearPlaying)()
	defer hear(aboutPlays, func(json.RawMessage) { p.Playing.TellAgain() })()
	defer p.Notes.Missed(func() { p.lookAgain(ctx) })()
	defer hear(aboutJobs, p.hearJob)()
	defer hear(aboutStored, p.hearStored)()
	defer hear(aboutBreaker, p.hearBreaker)()
	defer hear(aboutChanges, func(json.RawMessage) { p.Traffic.ChangedRemotely() })()
	defer hear(aboutAll, func(json.RawMessage) { p.lookAgain(ctx) })()
	if p.Leads {
		if err := p.Connections.SaveAllLive(ctx, p.Store, []string{leases.OfLeader}); err != nil {
			return err
		}
		p.Notes.Tell(aboutAll, nil)
	} else {
		defer hear(aboutSettings, func(json.RawMessage) { p.check(ctx) })()
		p.check(ctx) // what has changed since it was read
	}
	p.Notes.Tell(aboutPlays, nil)
	var others sync.WaitGroup
	others.Go(func() { p.look(ctx) })
	others.Go(func() { _ = p.Apps.Work(ctx, p) })
	p.tell(ctx)
	others.Wait()
	return nil
}

// lookAgain has every part look at the database again: a note of another server may have got lost.
func (p *Peer) lookAgain(ctx context.Context) {
	p.Traffic.ChangedRemotely()
	p.Bus.CloseAll()
	p.Queue.LookAll()
	if !p.Leads {
		p.check(ctx)
	}
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
	p.Notes.Tell(aboutChanges, nil)
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

func (p *Peer) hearEvent(ctx context.Context, data json.RawMessage) {
	var v userEvent
	if p.read(data, &v) {
		p.Traffic.ChangedRemotely()
		p.Bus.Relay(v.User, v.Event)
		if v.Event.Type == events.Connection {
			p.Connections.Heard(ctx, v.User, v.Event.Connection)
		}
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

func (p *Peer) hearStored(data json.RawMessage) {
	var kind string
	if p.read(data, &kind) {
		p.Traffic.ChangedRemotely()
		p.Queue.LookHere(kind)
	}
}

func (p *Peer) hearBreaker(data json.RawMessage) {
	var endpoint string
	if p.read(data, &endpoint) {
		p.Endpoints.Breakers.Reset(endpoint)
	}
}

// look has alarms look at what other servers have stored, until ctx ends.
func (p *Peer) look(ctx context.Context) {
	for {
		kinds := map[string]bool{}
		select {
		case <-ctx.Done():
			return
		case kind := <-p.jobs:
			kinds[kind] = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gatherFor):
		}
		for len(p.jobs) > 0 {
			kinds[<-p.jobs] = true
		}
		if err := p.Queue.LookAfter(ctx, slices.Collect(maps.Keys(kinds))...); err != nil && ctx.Err() == nil {
			p.Log.Error("what another server has stored may be sent late", "err", err)
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
	// gatherFor is how long an event waits for others to be sent with it. Most reads of a connection take less, so that
	// its state is saved once and not at each step. Nobody who watches it on another server notices.
	gatherFor = 100 * time.Millisecond
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
	unsaved := map[syncer.Ref]bool{} // connections whose states have changed
	var again <-chan time.Time       // when to try again to save them
	for {
		var all []userEvent
		select {
		case <-ctx.Done():
			return
		case first := <-p.out:
			all = p.gather(ctx, first)
		case apps := <-p.begun:
			if err := p.Connections.SaveAllLive(ctx, p.Store, apps); err != nil && ctx.Err() == nil {
				p.Log.Warn("the other servers show old states of connections", "err", err)
			}
		case <-again:
		}
		for _, one := range all {
			if one.Event.Type == events.Connection {
				unsaved[syncer.Ref{User: one.User, Connection: one.Event.Connection}] = true
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
func (p *Peer) save(ctx context.Context, unsaved map[syncer.Ref]bool) error {
	if len(unsaved) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveWithin)
	defer cancel()
	refs := slices.Collect(maps.Keys(unsaved))
	if err := p.Connections.SaveLive(ctx, p.Store, refs...); err != nil {
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
