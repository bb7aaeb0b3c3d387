package peers

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/cluster"
	"reprise/internal/events"
	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/playrules"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// post carries what two servers tell each other.
type post struct {
	mu      sync.Mutex
	readers []func(string)
}

func (p *post) Send(_ context.Context, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, got := range p.readers {
		got(text)
	}
	return nil
}

func (p *post) Receive(ctx context.Context, begun func(), got func(string)) error {
	p.mu.Lock()
	p.readers = append(p.readers, got)
	p.mu.Unlock()
	begun()
	<-ctx.Done()
	return nil
}

// parts are those of a server, and note what is asked of them.
type parts struct {
	mu     sync.Mutex
	did    []string
	refuse error // to save
	moved  bool  // the settings have changed
	look   func(string, bool)
}

func (p *parts) does(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.did = append(p.did, what)
}

// all returns what was asked since the last call.
func (p *parts) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	did := p.did
	p.did = nil
	return did
}

func (p *parts) ReadRemote(syncer.LiveStore) { p.does("reads states") }

func (p *parts) SaveAllLive(context.Context, syncer.LiveStore, []string) error {
	p.does("saves all states")
	return nil
}

func (p *parts) SaveLive(_ context.Context, _ syncer.LiveStore, refs ...syncer.Ref) error {
	slices.SortFunc(refs, func(a, b syncer.Ref) int { return cmp.Compare(a.User, b.User) })
	for _, r := range refs {
		p.does("saves the state of " + string(r.Connection) + " of " + string(rune('0'+r.User)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse
}

func (p *parts) Prepare(context.Context, []leases.Lease) error      { return nil }
func (p *parts) Begin([]string)                                     {}
func (p *parts) Heard(context.Context, int64, library.ConnectionID) {}
func (p *parts) LiveStates(context.Context, int64) (map[library.ConnectionID][]byte, error) {
	return nil, nil
}
func (p *parts) SaveLiveStates(context.Context, []library.LiveState) error { return nil }
func (p *parts) UserConnections(context.Context, int64) ([]library.Connection, error) {
	return nil, nil
}
func (p *parts) Fits(context.Context) error { return nil }

func (p *parts) Hold(context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.moved, nil
}

func (p *parts) moves(moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = moved
}

func (p *parts) Follow(tell func(string, bool)) { p.look = tell }

func (p *parts) LookHere(kind string) { p.does("looks at stored " + kind) }

func (p *parts) LookAfter(_ context.Context, kinds ...string) error {
	p.does("looks at " + strings.Join(kinds, " and "))
	return nil
}

func (p *parts) LookAll() { p.does("looks at all") }

func (*parts) RulesFor(int64) (*playrules.Set, error) { return nil, nil }

func (p *parts) Playing(_ int64, _ library.ConnectionID, t library.Track, _ []library.ConnectionID) {
	p.does("announces " + t.Title)
}

// changes counts those of the database.
type changes struct{ parts *parts }

func (c changes) ChangedRemotely() { c.parts.does("changes") }

// files are those that a server reads.
type files struct {
	trouble   map[int64]words.Text
	elsewhere func(int64) words.Text
}

func (f *files) Troubles() map[int64]words.Text            { return f.trouble }
func (f *files) ReadRemote(trouble func(int64) words.Text) { f.elsewhere = trouble }

// listed is a list of servers in which another one says something.
type listed struct {
	leases.Book
	says string
}

func (l *listed) ConfirmLeases(context.Context, string) ([]leases.Lease, error) { return nil, nil }
func (l *listed) GiveLeases(context.Context, string) error                      { return nil }
func (l *listed) Leases(context.Context, string, string) ([]leases.Holding, map[string]string, error) {
	return nil, map[string]string{"2": l.says}, nil
}

// server is one of two.
type server struct {
	*parts
	*Peer
	notes *cluster.Notes
}

func (p *post) joins(t *testing.T, id string, leads bool) *server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := &server{parts: &parts{}, notes: cluster.NewNotes(id, p, log)}
	bus := &events.Bus{}
	s.Peer = Join(Options{Notes: s.notes, Leads: leads, Bus: bus, Playing: players.NewNow(s.parts, bus), Queue: s.parts,
		Traffic: changes{s.parts}, Connections: s.parts, Endpoints: &Endpoints{},
		Imports: &files{}, Store: s.parts, Settings: s.parts, Log: log,
		Restart: func() { s.does("restarts") }})
	go s.Run(t.Context())
	synctest.Wait()
	go s.notes.Run(t.Context())
	pass()
	s.all()
	return s
}

// pass lets a second pass, and what is due be done.
func pass() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func next(t *testing.T, s *events.Subscription) (all []events.Type) {
	t.Helper()
	for {
		select {
		case e, open := <-s.C:
			if !open {
				return append(all, "closed")
			}
			all = append(all, e.Type)
		default:
			return all
		}
	}
}

func TestWhatOneServerDoesIsKnownToTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		leader, other := p.joins(t, "1", true), p.joins(t, "2", false)
		here, there := leader.Bus.Subscribe(1), other.Bus.Subscribe(1)
		defer here.Close()
		defer there.Close()

		leader.Bus.Publish(1, events.Event{Type: events.Connection, Connection: "lastfm"})
		leader.Bus.Publish(1, events.Event{Type: events.Listens, Done: 1})
		leader.Bus.Publish(2, events.Event{Type: events.Connection, Connection: "lastfm"})
		leader.Bus.PublishAll(events.Event{Type: events.Access})
		pass()
		require.Equal(t, []events.Type{events.Connection, events.Listens, events.Access}, next(t, there))
		require.Len(t, next(t, here), 3, "it hears nothing twice")
		require.Equal(t, []string{"saves the state of lastfm of 1", "saves the state of lastfm of 2"}, leader.all(),
			"before the others look")

		other.Bus.Publish(1, events.Event{Type: events.Players, Connection: "player-1"})
		other.parts.look("send", false)
		pass()
		require.Equal(t, []events.Type{events.Players}, next(t, here))
		require.ElementsMatch(t, []string{"changes", "changes", "looks at send"}, leader.all())

		track := library.Track{Title: "Hunter", Artist: "Björk"}
		other.Options.Playing.Begins(1, "player-1", library.Playing{Track: track})
		pass()
		require.Len(t, leader.Options.Playing.Of(1), 1)
		require.Contains(t, leader.all(), "announces Hunter")
		leader.Options.Playing.Ends(1, "player-1", track)
		pass()
		require.Empty(t, other.Options.Playing.Of(1))
		other.all()

		leader.Changed()
		pass()
		require.Empty(t, other.all(), "they are as it has read them")
		other.moves(true)
		leader.Changed()
		pass()
		require.Equal(t, []string{"restarts"}, other.all(), "with the settings")
		require.NotContains(t, leader.all(), "restarts")
	})
}

func TestAServerThatHasMissedSomethingLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		leader, other := p.joins(t, "1", true), p.joins(t, "2", false)
		here := leader.Bus.Subscribe(1)
		defer here.Close()
		require.NoError(t, p.Send(t.Context(), "no envelope"))
		for _, s := range []*server{leader, other} {
			require.Equal(t, []string{"changes", "looks at all"}, s.all())
		}
		other.moves(true)
		require.NoError(t, p.Send(t.Context(), "no envelope"))
		require.Equal(t, []string{"changes", "looks at all", "restarts"}, other.all())
		other.moves(false)
		require.Equal(t, []events.Type{"closed"}, next(t, here), "an open page asks again")

		leader.mu.Lock()
		leader.refuse = errors.New("the database is away")
		leader.mu.Unlock()
		there := other.Bus.Subscribe(1)
		defer there.Close()
		leader.Bus.Publish(1, events.Event{Type: events.Connection, Connection: "lastfm"})
		leader.Bus.Publish(1, events.Event{Type: events.SessionEnd, ID: "1"})
		time.Sleep(saveAgainAfter / 2)
		synctest.Wait()
		require.Equal(t, []events.Type{events.Connection, events.SessionEnd}, next(t, there),
			"they don't wait for long")
		leader.mu.Lock()
		leader.refuse = nil
		leader.mu.Unlock()
		pass()
		require.Equal(t, []events.Type{"closed"}, next(t, there), "it looks again")
		for _, s := range []*server{leader, other} {
			s.hearEvent(t.Context(), []byte("{"))
			s.hearPlaying([]byte("{"))
			s.hearJob([]byte("{"))
		}
	})
}

// What a person does at one server is there when they look at another one after the answer.
func TestAnAnswerWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		leader, other := p.joins(t, "1", true), p.joins(t, "2", false)
		pass()
		_ = leader.all()
		other.Flush(t.Context())
		pass()
		require.Equal(t, []string{"changes"}, leader.all(), "there may have been no event")
		leader.Bus.Publish(1, events.Event{Type: events.Connection, Connection: "lastfm"})
		began := time.Now()
		leader.Flush(t.Context())
		require.Zero(t, time.Since(began), "it does not wait for more")
		require.Equal(t, []string{"saves the state of lastfm of 1"}, leader.all())
		other.Flush(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		leader.Flush(ctx)
		ended := Join(leader.Options)
		close(ended.over)
		began = time.Now()
		ended.Flush(t.Context())
		require.Zero(t, time.Since(began), "it has stopped")
	})
}

// What is playing is known to a server that has just begun.
func TestAServerThatBeginsKnowsWhatPlays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		leader := p.joins(t, "1", true)
		leader.Options.Playing.Begins(1, "spotify", library.Playing{Left: time.Hour,
			Track: library.Track{Title: "Hunter", Artist: "Björk"}})
		leader.all()
		other := p.joins(t, "2", false)
		pass()
		require.Len(t, other.Options.Playing.Of(1), 1)
		require.InDelta(t, time.Hour, time.Until(other.Options.Playing.Of(1)[0].Until), float64(time.Minute))
		require.Empty(t, leader.all())
		require.NotContains(t, other.all(), "announces Hunter")
	})
}

// Why an import waits is shown by every server, also by those that don't read it.
func TestAnImportThatWaitsSaysWhyEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := (&post{}).joins(t, "2", false)
		full := words.New("trouble.file")
		reads.Options.Imports.(*files).trouble = map[int64]words.Text{7: full}

		log := slog.New(slog.DiscardHandler)
		shown := &files{}
		apps := leases.NewHolder("1", &listed{says: reads.Says()}, func() bool { return false }, log)
		o := (&post{}).joins(t, "1", false).Options
		o.Apps, o.Imports, o.Endpoints = apps, shown, &Endpoints{Breakers: o.Endpoints.Breakers}
		Join(o)
		require.Zero(t, shown.elsewhere(7), "nothing has been heard of the others")
		go apps.Run(t.Context())
		synctest.Wait()
		require.Equal(t, full, shown.elsewhere(7))
		require.Zero(t, shown.elsewhere(8))
	})
}
