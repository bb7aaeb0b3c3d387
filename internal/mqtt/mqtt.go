// Package mqtt tells a broker at home what people are playing, how much they have heard today, and whether something
// needs them, so that Home Assistant shows it by itself. It is about people whose household may see their listening.
//
// Everything is retained: a topic holds the present state, and somebody who subscribes later reads it at once.
package mqtt

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/players"
)

// Store is what is published from.
type Store interface {
	Users(context.Context) ([]accounts.User, error)
	// CountSent counts a person's listens since a time, without those that rules keep from being sent anywhere.
	CountSent(ctx context.Context, user int64, since time.Time) (int, error)
	Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error)
}

// Options are what a Publisher is made of.
type Options struct {
	Store   Store
	Playing *players.Now
	Bus     *events.Bus
	Version string
	Log     *slog.Logger
}

// Publisher publishes what people do. Make it with New, and run it with Run. It is safe for concurrent use.
type Publisher struct {
	Options
	changed chan struct{} // the settings

	mu  sync.Mutex
	now config.MQTT
}

const (
	// gatherFor is how long a change waits for others that are published with it.
	gatherFor = 300 * time.Millisecond
	// lookEvery is how often everything is looked at: a day ends, and people begin to share.
	lookEvery = time.Minute
	// answerWithin is how long the broker may take.
	answerWithin = 10 * time.Second
	// leaveWithin is how long saying goodbye may take.
	leaveWithin = 2 * time.Second
	// mostRetry is the longest wait between two tries to reach the broker.
	mostRetry = time.Minute
)

// errChanged ends a session whose settings have changed.
var errChanged = errors.New("the settings have changed")

// New returns a Publisher.
func New(o Options, s config.MQTT) *Publisher {
	return &Publisher{Options: o, now: s, changed: make(chan struct{}, 1)}
}

// Configure changes the settings.
func (p *Publisher) Configure(s config.MQTT) {
	p.mu.Lock()
	before := p.now
	p.now = s
	p.mu.Unlock()
	if before != s {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// Settings returns the settings as they are now.
func (p *Publisher) Settings() config.MQTT {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Run publishes until ctx ends. Call it once at a time.
func (p *Publisher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s := p.Settings()
		session, stop := context.WithCancelCause(ctx)
		var running sync.WaitGroup
		if s.Broker != "" {
			running.Go(func() { newSession(p, s).run(session) })
		}
		select {
		case <-ctx.Done():
		case <-p.changed:
		}
		stop(errChanged)
		running.Wait()
	}
	return nil
}
