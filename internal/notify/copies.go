package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/words"
)

// causeCopy begins the cause of a question about a copy of a playlist; the playlist's id follows.
const causeCopy = "copy of playlist "

// causeConflict begins the cause of a question about both sides of a playlist; the playlist's id follows.
const causeConflict = "conflict of playlist "

// CopyCauses begin the causes of all questions about copies of playlists.
var CopyCauses = []string{causeCopy, causeConflict}

// CopyAsked returns the playlist whose copy a cause asks about writing again; not ok for other questions.
func CopyAsked(cause string) (playlist string, ok bool) { return strings.CutPrefix(cause, causeCopy) }

// asksOfCopy reports whether a cause is a question about a copy.
func asksOfCopy(cause string) bool {
	return slices.ContainsFunc(CopyCauses, func(begin string) bool { return strings.HasPrefix(cause, begin) })
}

// CopyChanged asks a person what to do about a copy that was deleted or changed at its provider. There is one question
// about a copy until CopySettled.
func (n *Notifier) CopyChanged(ctx context.Context, c library.CopyChange) error {
	v := Notification{User: c.User, Connection: c.Connection, Cause: causeCopy + strconv.FormatInt(c.Playlist, 10),
		Severity: Warning, Category: "item", Action: Action{Label: words.New("alert.action.decide"),
			URL: fmt.Sprintf("/playlists/%d#copy-%s", c.Playlist, c.Connection)}}
	v.Title = words.New("copy.changed.title", "Playlist", c.Name, "Service", c.Label)
	v.Message = words.New("copy.changed.message", "Playlist", c.Name, "Service", c.Label)
	if c.Conflict {
		v.Cause = causeConflict + strconv.FormatInt(c.Playlist, 10)
		v.Action.URL = fmt.Sprintf("/playlists/%d/copies/%s/conflict", c.Playlist, c.Connection)
		v.Title = words.New("copy.conflict.title", "Playlist", c.Name, "Service", c.Label)
		v.Message = words.New("copy.conflict.message", "Playlist", c.Name, "Service", c.Label)
	}
	if c.Gone {
		v.Title = words.New("copy.gone.title", "Playlist", c.Name, "Service", c.Label)
		v.Message = words.New("copy.gone.message", "Playlist", c.Name, "Service", c.Label)
	}
	return n.Open(ctx, v)
}

// CopySettled withdraws the question of CopyChanged.
func (n *Notifier) CopySettled(ctx context.Context, user int64, conn library.ConnectionID, playlist int64) error {
	id := strconv.FormatInt(playlist, 10)
	return errors.Join(n.Resolve(ctx, user, conn, causeCopy+id), n.Resolve(ctx, user, conn, causeConflict+id))
}
