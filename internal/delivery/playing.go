package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// announcer tells the accounts that a person's plays are forwarded to what is playing now. It is worth nothing a moment
// later: it is not stored, not tried again, and left out while an account may not be called.
type announcer struct {
	Parts
	heard chan announcement
}

// announcement is what a connection, or a player, has begun to play.
type announcement struct {
	user  int64
	from  library.ConnectionID
	track library.Track
	// withheld lists the connections that the person's rules keep the play from.
	withheld []library.ConnectionID
}

const (
	// announcedLate is how many announcements wait at most while others are made. What comes then is left out.
	announcedLate = 16
	announcers    = 4
	// announceWithin is how long the accounts may take together.
	announceWithin = 20 * time.Second
)

func newAnnouncer(p Parts) *announcer {
	return &announcer{Parts: p, heard: make(chan announcement, announcedLate)}
}

// Playing tells the accounts that a person's plays are forwarded to what a connection, or a player, has begun to play.
// It leaves out those where their rules withhold it, and does not wait for the others.
func (d *Deliveries) Playing(user int64, from library.ConnectionID, t library.Track, withheld []library.ConnectionID) {
	select {
	case d.runner.announcer.heard <- announcement{user, from, t, withheld}:
	default:
	}
}

// RulesFor returns a person's rules for what they play; nil without any.
func (d *Deliveries) RulesFor(user int64) (*playrules.Set, error) {
	ctx, cancel := context.WithTimeout(context.Background(), announceWithin)
	defer cancel()
	return d.Store.RulesFor(ctx, user)
}

// run makes announcements until ctx ends.
func (a *announcer) run(ctx context.Context) {
	var all sync.WaitGroup
	for range announcers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case one := <-a.heard:
					a.announce(ctx, one)
				}
			}
		})
	}
	all.Wait()
}

func (a *announcer) announce(ctx context.Context, one announcement) {
	ctx, cancel := context.WithTimeout(ctx, announceWithin)
	defer cancel()
	routes, err := a.Store.Routing(ctx, one.user)
	if err != nil {
		a.Log.Debug("what is playing is not told", slog.Int64("user_id", one.user), slog.Any("err", err))
		return
	}
	var all sync.WaitGroup
	for _, rule := range routes.Targets(one.from) {
		same := func(id library.ConnectionID) bool { return routes.Accounts.Same(id, rule.Connection) }
		if !playrules.Sends(one.withheld, same) {
			continue
		}
		all.Go(func() {
			if err := a.tell(ctx, rule.Connection, one); err != nil {
				a.Log.Debug("what is playing is not told", slog.Int64("user_id", one.user),
					slog.String("connection", string(rule.Connection)), slog.Any("err", err))
			}
		})
	}
	all.Wait()
}

func (a *announcer) tell(ctx context.Context, to library.ConnectionID, one announcement) error {
	p := a.Registry.Get(to.Provider())
	if p == nil || !p.Takes.Playing {
		return nil
	}
	c, err := a.Store.Connection(ctx, one.user, to)
	if err != nil || c.Paused {
		return err
	}
	return a.Guard.Do(ctx, providers.OfConnection(c, library.Deliveries),
		func(ctx context.Context, _ resilience.Call, adapter providers.Adapter) error {
			taker, ok := adapter.(providers.PlayingTaker)
			if !ok {
				return fmt.Errorf("%s: adapter doesn't show what is playing", c.ID)
			}
			track := one.track
			track.SourceID = "" // where it is played
			if there, ok := adapter.(providers.LibraryTaker); ok && p.Takes.Library {
				var err error
				if track, err = a.inLibrary(ctx, there, c, track); err != nil || track.SourceID == "" {
					return err
				}
			}
			return taker.Playing(ctx, track)
		})
}

// inLibrary returns the song of a library that a track surely is; the zero track if none is.
func (a *announcer) inLibrary(
	ctx context.Context, there providers.LibraryTaker, c library.Connection, t library.Track,
) (library.Track, error) {
	finder, err := newSongFinder(ctx, a.Store, there, Draft{User: c.User, Connection: c.ID}, []library.Track{t})
	if err != nil {
		return library.Track{}, err
	}
	return finder.sure(ctx, t)
}
