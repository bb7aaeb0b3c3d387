package alerts

import (
	"context"
	"errors"
	"fmt"
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

// Losses tells a person that playlists have lost songs, and closes what it has told once there is nothing to do about
// it any more, or nothing that could be done: old versions of a playlist that changes often are not kept.
func (a *Alerts) Losses(ctx context.Context, p *providers.Provider, c library.Connection, in Playlists) error {
	all, err := in.Losses(ctx, c.User, c.ID)
	if err != nil {
		return err
	}
	over := notify.Closing{User: c.User, Connection: c.ID, Begins: []string{lossCauses}}
	for _, l := range all {
		if l.Told() && !l.Over(time.Now()) {
			over.Causes = append(over.Causes, lossCause(l))
			err = errors.Join(err, a.notifier.Open(ctx, lossNotice(p, c, l)))
		}
	}
	return errors.Join(err, a.notifier.Close(ctx, over))
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
