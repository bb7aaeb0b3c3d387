package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// Playlists says what people's playlists have lost.
type Playlists interface {
	// Losses returns what the playlists of a connection have lost, the latest first.
	Losses(ctx context.Context, user int64, conn library.ConnectionID) ([]library.PlaylistLoss, error)
}

// lossCause is the cause of the notification that a playlist has lost songs.
func lossCause(l library.PlaylistLoss) string {
	return fmt.Sprintf("%s%d@%d", lossCauses, l.Playlist, l.Version)
}

// lossCauses begins all such causes.
const lossCauses = "songs lost from playlist "

// openLosses returns the causes of the open notifications that playlists of a connection have lost songs.
func (a *Alerts) openLosses(ctx context.Context, user int64, conn library.ConnectionID) (causes []string, err error) {
	open, err := a.store.Notifications(ctx, user, true)
	for _, n := range open {
		if n.Connection == conn && strings.HasPrefix(n.Cause, lossCauses) {
			causes = append(causes, n.Cause)
		}
	}
	return causes, err
}

// Losses tells a person that playlists have lost songs, and closes what it has told once there is nothing to do about
// it any more, or nothing that could be done: old versions of a playlist that changes often are not kept.
func (a *Alerts) Losses(ctx context.Context, p *providers.Provider, c library.Connection, in Playlists) error {
	all, err := in.Losses(ctx, c.User, c.ID)
	if err != nil {
		return err
	}
	lasting := map[string]bool{}
	for _, l := range all {
		if l.Told() && !l.Over(time.Now()) {
			lasting[lossCause(l)] = true
			err = errors.Join(err, a.notifier.Open(ctx, lossNotice(p, c, l)))
		}
	}
	open, e := a.openLosses(ctx, c.User, c.ID)
	over := slices.DeleteFunc(open, func(cause string) bool { return lasting[cause] })
	if err = errors.Join(err, e); len(over) == 0 {
		return err
	}
	return errors.Join(err, a.notifier.Resolve(ctx, c.User, c.ID, over...))
}

// lossNotice words a loss. It says who has removed the songs only if that is known.
func lossNotice(p *providers.Provider, c library.Connection, l library.PlaylistLoss) notify.Notification {
	id, severity := "gone", notify.Info
	if l.Taken {
		id, severity = "taken", notify.Warning
	}
	about := []any{"Name", p.Label(c), "List", l.Name, "Count", l.Songs, "Since", l.At}
	return notify.Notification{User: c.User, Connection: c.ID, Cause: lossCause(l), Severity: severity,
		Title:   words.Each("playlists.alert.title_", id, about...),
		Message: words.Each("playlists.alert.", id, about...),
		Action: notify.Action{Label: words.New("playlists.alert.look"),
			URL: fmt.Sprintf("/playlists/%d/history/%d", l.Playlist, l.Version)}}
}
