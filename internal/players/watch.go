package players

import (
	"context"
	"log/slog"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// Notifier opens and closes notifications. It is implemented by notify.Notifier.
type Notifier interface {
	Open(context.Context, notify.Notification) error
	Resolve(ctx context.Context, user int64, conn library.ConnectionID, causes ...string) error
}

// SilentCause is the cause of the notification that nothing comes from a player.
const SilentCause = "silent"

// watchEvery is how often players are looked at. Silence is a matter of days.
const watchEvery = time.Hour

// Watcher tells a person once when nothing has come from a player for longer than usual.
type Watcher struct {
	Store interface {
		// AllPlayers returns the players of all people.
		AllPlayers(context.Context) ([]Player, error)
		HabitOf(ctx context.Context, user int64, id library.ConnectionID, from time.Time) (Habit, error)
	}
	Notifier Notifier
	Log      *slog.Logger
}

// said is what is known of the notification about a player.
type said struct {
	user int64
	open bool
}

// Run looks until ctx ends. It is not called twice at once.
func (w Watcher) Run(ctx context.Context) error {
	known := map[library.ConnectionID]said{}
	for ticker := time.NewTicker(watchEvery); ; {
		if err := w.look(ctx, known); err != nil && ctx.Err() == nil {
			w.Log.Error("players cannot be looked at", "err", err)
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			return nil
		case <-ticker.C:
		}
	}
}

func (w Watcher) look(ctx context.Context, known map[library.ConnectionID]said) error {
	all, err := w.Store.AllPlayers(ctx)
	if err != nil {
		return err
	}
	now, there := time.Now(), map[library.ConnectionID]bool{}
	for _, p := range all {
		there[p.ID] = true
		habit, err := w.Store.HabitOf(ctx, p.User, p.ID, HabitFrom(now))
		if err != nil {
			return err
		}
		before, looked := known[p.ID]
		switch silent := !p.Paused && habit.Silent(now); {
		case silent:
			known[p.ID] = said{p.User, true}
			err = w.Notifier.Open(ctx, notify.Notification{User: p.User, Connection: p.ID, Cause: SilentCause,
				Severity: notify.Info, Title: words.New("players.silence.title", "Name", p.Name),
				Message: words.New("players.silence.text", "Name", p.Name, "Since", words.Day(habit.Latest)),
				Action:  notify.Action{Label: words.New("players.silence.open"), URL: "/players/" + string(p.ID)}})
		case before.open || !looked:
			if err = w.Notifier.Resolve(ctx, p.User, p.ID, SilentCause); err == nil {
				known[p.ID] = said{p.User, false}
			}
		}
		if err != nil {
			return err
		}
	}
	for id, v := range known { // one was removed, perhaps while it was looked at
		if there[id] {
			continue
		}
		if v.open {
			if err := w.Notifier.Resolve(ctx, v.user, id, SilentCause); err != nil {
				return err
			}
		}
		delete(known, id)
	}
	return nil
}
