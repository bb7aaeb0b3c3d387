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

// Run looks until ctx ends. It is not called twice at once.
func (w Watcher) Run(ctx context.Context) error {
	heard := map[library.ConnectionID]bool{} // players without an open notification
	for ticker := time.NewTicker(watchEvery); ; {
		if err := w.look(ctx, heard); err != nil && ctx.Err() == nil {
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

func (w Watcher) look(ctx context.Context, heard map[library.ConnectionID]bool) error {
	all, err := w.Store.AllPlayers(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, p := range all {
		habit, err := w.Store.HabitOf(ctx, p.User, p.ID, HabitFrom(now))
		if err != nil {
			return err
		}
		switch silent := !p.Paused && habit.Silent(now); {
		case silent:
			err = w.Notifier.Open(ctx, notify.Notification{User: p.User, Connection: p.ID, Cause: SilentCause,
				Severity: notify.Info, Title: words.New("players.silence.title", "Name", p.Name),
				Message: words.New("players.silence.text", "Name", p.Name, "Since", words.Day(habit.Latest)),
				Action:  notify.Action{Label: words.New("players.silence.open"), URL: "/players/" + string(p.ID)}})
			delete(heard, p.ID)
		case !heard[p.ID]:
			err = w.Notifier.Resolve(ctx, p.User, p.ID, SilentCause)
			heard[p.ID] = err == nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
