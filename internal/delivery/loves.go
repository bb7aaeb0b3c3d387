package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// loveStore is what telling services what people love needs of the store.
type loveStore interface {
	// LovesToSend returns some of what a service is still to be told, by the names and the id of the track there.
	LovesToSend(ctx context.Context, user int64, conn library.ConnectionID, hates bool, most int) (
		[]library.LoveThere, error)
	// KnownThere returns the SourceIDs by which a person's tracks are known from a service, by their love keys: what
	// they love, have on playlists or have played there.
	KnownThere(ctx context.Context, user int64, provider string, keys []int64) (map[int64]string, error)
	// LoveSent notes that a service has been told what a person thinks of a track, or why it doesn't take that. With
	// v.Keep, it keeps the SourceID of a track that is no longer loved.
	LoveSent(ctx context.Context, c library.Connection, v library.LoveThere, refused words.Text) error
	// KeepLoves has a service told what a person loves from now on; with onlyNew, not what they have said until now.
	KeepLoves(ctx context.Context, user int64, conn library.ConnectionID, onlyNew bool) error
	// RetryLove sends a track to a service once more that it has refused.
	RetryLove(ctx context.Context, user int64, conn library.ConnectionID, t library.Track) error
}

// lovesAtOnce is how many tracks one attempt sends. Each takes a call, at the service's pace, and plays should not wait
// long behind them.
const lovesAtOnce = 50

// loveDeliverer tells services what people love. What a service has is compared with what it should have just before,
// so that whatever happens to a delivery, the next one brings the rest.
type loveDeliverer struct {
	copyWriter
	store    Store
	registry *providers.Registry
	today    dailyCalls
}

// dailyCalls counts the calls of apps whose service gives a day's quota. A restart forgets them. It is safe for
// concurrent use.
type dailyCalls struct {
	mu sync.Mutex
	of map[string]callsUntil // by provider and app
}

// callsUntil is how many calls an app has made since its last reset, and when the next one is.
type callsUntil struct {
	n     int
	reset time.Time
}

// left returns how many calls the app of a connection may make yet, and when the day ends. limited is false if there is
// no limit.
func (d *dailyCalls) left(p *providers.Provider, c library.Connection) (n int, until time.Time, limited bool) {
	if p.Takes.LovesPerDay == 0 {
		return 0, until, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	today := d.now(p, c)
	return p.Takes.LovesPerDay - today.n, today.reset, true
}

// take counts a call, and returns false if there may be none.
func (d *dailyCalls) take(p *providers.Provider, c library.Connection) bool {
	if p.Takes.LovesPerDay == 0 {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	today := d.now(p, c)
	if today.n >= p.Takes.LovesPerDay {
		return false
	}
	today.n++
	d.of[c.Provider()+" "+c.App] = today
	return true
}

func (d *dailyCalls) now(p *providers.Provider, c library.Connection) callsUntil {
	if d.of == nil {
		d.of = map[string]callsUntil{}
	}
	now := time.Now()
	today := d.of[c.Provider()+" "+c.App]
	if !now.Before(today.reset) {
		today = callsUntil{reset: p.QuotaReset(now)}
	}
	return today
}

func (d *loveDeliverer) deliver(ctx context.Context, c library.Connection, a *attempt) error {
	kept, wanted, err := d.read(ctx, a)
	if err != nil || !wanted {
		return err
	}
	service := d.registry.Get(c.Provider())
	hates := service.Takes.Hates
	all, err := d.store.LovesToSend(ctx, a.User, a.Connection, hates, lovesAtOnce)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return d.finish(ctx, a, kept, struct{}{})
	}
	if n, until, limited := d.today.left(service, c); limited && n <= 0 {
		return &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Waiting, Category: resilience.Quota,
			Scope: resilience.ScopeApp, Until: until}}
	}
	err = d.guard.Do(ctx, a.subject(c), func(ctx context.Context, _ resilience.Call, p providers.Adapter) error {
		there, ok := p.(providers.LoveTaker)
		if !ok {
			return fmt.Errorf("%s: adapter is not told what people love", c.ID)
		}
		return d.tell(ctx, there, c, all)
	})
	switch {
	case errors.Is(err, providers.ErrNotOffered): // it can't be kept the same
		err = d.store.DropCopy(context.WithoutCancel(ctx), a.User, a.Connection, WriteLoves, LovesRef)
		return errors.Join(err, d.leave(ctx, a, kept))
	case err == nil:
		err = errAgain // as long as there is more
	}
	return err
}

// tell tells a service what a person thinks of some tracks, and notes each at once.
func (d *loveDeliverer) tell(ctx context.Context, there providers.LoveTaker, c library.Connection,
	all []library.LoveThere) (err error) {
	var songs *songFinder
	if shelf, ok := there.(providers.SongFinder); ok && d.registry.Get(c.Provider()).Takes.LovesFound {
		tracks := make([]library.Track, len(all))
		for i, v := range all {
			tracks[i] = trackOf(v.Love)
		}
		songs, err = newSongFinder(ctx, d.store, shelf, Draft{User: c.User, Connection: c.ID}, tracks)
		if err != nil {
			return err
		}
		songs.forgetFound()
		defer func() { err = errors.Join(err, songs.keepMisses(ctx)) }()
	}
	byID := d.registry.Get(c.Provider()).Takes.LovesKnown
	var known map[int64]string
	if byID {
		if known, err = d.known(ctx, c, all); err != nil {
			return err
		}
	}
	for _, v := range all {
		var err error
		v.Keep = byID
		switch {
		case songs != nil && v.SourceID == "":
			err = songs.identify(ctx, &v.Love)
		case byID && v.SourceID == "":
			if v.SourceID = known[v.Key]; v.SourceID == "" {
				err = refuse(words.New("delivery.song.unknown"))
			}
		}
		if err == nil && !d.today.take(d.registry.Get(c.Provider()), c) {
			return nil // the rest goes out tomorrow
		}
		if err == nil {
			var id string
			if id, err = there.Love(ctx, v.Love); id != "" {
				v.SourceID = id
			}
		}
		var refused words.Text
		if resilience.IsItem(err) {
			refused, err = explain(resilience.VerdictOf(err), err).Reason, nil
		}
		if err == nil {
			err = d.store.LoveSent(context.WithoutCancel(ctx), c, v, refused)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// known returns the SourceIDs of tracks that the service doesn't have yet, as far as they are known from there.
func (d *loveDeliverer) known(ctx context.Context, c library.Connection, all []library.LoveThere) (map[int64]string,
	error) {
	var keys []int64
	for _, v := range all {
		if v.SourceID == "" {
			keys = append(keys, v.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return d.store.KnownThere(ctx, c.User, c.Provider(), keys)
}

func trackOf(v library.Love) library.Track {
	return library.Track{Title: v.Title, Artist: v.Artist, RecordingMBID: v.RecordingMBID}
}

// identify finds which song of the service a track surely is. The error is an item failure if there is none.
func (f *songFinder) identify(ctx context.Context, v *library.Love) error {
	song, err := f.find(ctx, trackOf(*v), true)
	if err != nil {
		return err
	}
	if song.How == match.ByNothing {
		return song.refusal()
	}
	v.SourceID = song.Found.SourceID
	return nil
}

// KeepLoves sends a service what a person loves from now on, and everything that they already love. A service that
// keeps no list, such as a webhook, only gets what is new.
func (d *Deliveries) KeepLoves(ctx context.Context, user int64, conn library.ConnectionID) error {
	p := d.Registry.Get(conn.Provider())
	if p == nil || !p.Takes.Loves {
		return ErrNotTaken
	}
	c, err := d.Store.Connection(ctx, user, conn)
	if err == nil && !p.May(providers.WriteLoves, c.Credentials) {
		err = ErrNotAllowed
	}
	if err != nil {
		return err
	}
	if err := d.room(ctx); err != nil {
		return err
	}
	defer d.publish(user, conn)
	return d.Store.KeepLoves(ctx, user, conn, !p.Pulls(library.Loves))
}

// LeaveLoves ends what KeepLoves began. What the service has stays there.
func (d *Deliveries) LeaveLoves(ctx context.Context, user int64, conn library.ConnectionID) error {
	defer d.publish(user, conn)
	return d.Store.DropCopy(ctx, user, conn, WriteLoves, LovesRef)
}
