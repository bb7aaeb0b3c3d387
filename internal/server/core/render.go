package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/notify"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Show answers with a page. It is written whole or not at all.
func (k *Core) Show(c echo.Context, status int, title string, page templ.Component) error {
	f, err := k.frame(c, title)
	if err != nil && status < http.StatusInternalServerError { // an error page is shown with what is known
		return err
	}
	return k.write(c, status, f, page)
}

// ShowAlone answers with a page that has the whole screen: nothing else on it can be reached. It has its own way out.
func (k *Core) ShowAlone(c echo.Context, title string, page templ.Component) error {
	return k.write(c, http.StatusOK, ui.Frame{Title: title, Version: k.version, Theme: UserOf(c).Theme,
		Language: words.From(c.Request().Context()), Alone: true}, page)
}

// ShowSmall answers with a page that fits a phone's screen, without the navigation.
func (k *Core) ShowSmall(c echo.Context, title string, page templ.Component) error {
	f, err := k.frame(c, title)
	if err != nil {
		return err
	}
	f.Small = true
	return k.write(c, http.StatusOK, f, page)
}

// write answers with a page in its frame.
func (b *Base) write(c echo.Context, status int, f ui.Frame, page templ.Component) error {
	var html bytes.Buffer
	if err := ui.Page(f).Render(templ.WithChildren(c.Request().Context(), page), &html); err != nil {
		return err
	}
	all := b.point(html.Bytes())
	if ByScript(c) { // of a page that is open, and asks for itself again and again
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(all))
		if c.Request().Header.Get("If-None-Match") == tag {
			return c.NoContent(http.StatusNotModified)
		}
		c.Response().Header().Set("ETag", tag)
	}
	return c.HTMLBlob(status, all)
}

// ShowOpen answers with a page for anybody who has its address. The page is the same for everybody, signed in or not.
func (k *Core) ShowOpen(c echo.Context, title string, meta []ui.Meta, page templ.Component) error {
	return k.write(c, http.StatusOK, openFrame(c, k.version, title, meta...), page)
}

// openFrame returns the frame of a page for anybody.
func openFrame(c echo.Context, version, title string, meta ...ui.Meta) ui.Frame {
	return ui.Frame{Title: title, Version: version, Language: words.From(c.Request().Context()),
		Path: c.Request().URL.RequestURI(), Help: helpFor(""),
		Meta: append([]ui.Meta{{Name: "robots", Content: "noindex, nofollow, noarchive"}}, meta...)}
}

// Open returns the open notifications of a user.
func (k *Core) Open(ctx context.Context, user int64) ([]Notification, error) {
	open, err := k.store.Notifications(ctx, user, true)
	return ViewsFor(ctx, open, ViewNotification), err
}

// Confirmation is a page that asks before something that cannot be taken back, or that is much.
type Confirmation struct {
	Title, Lead string
	Facts       []string
	Action      string  // the address of the form
	Fields      []Field // hidden ones
	Button      string
	Warn        bool
	Back        string // the address of "Cancel"
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// Confirm answers with a confirmation page.
func (k *Core) Confirm(c echo.Context, v Confirmation) error {
	d := ui.Dialog{Title: v.Title, Lead: v.Lead, Facts: v.Facts, Back: v.Back,
		Do: ui.Action{Label: v.Button, Post: v.Action, Main: true, Warn: v.Warn}}
	for _, f := range v.Fields {
		d.Do.Fields = append(d.Do.Fields, ui.Hidden(f))
	}
	if within(k.pathOf(c), "/settings") {
		return k.ShowSettings(c, http.StatusOK, v.Title, ui.Ask(d))
	}
	return k.Show(c, http.StatusOK, v.Title, ui.Ask(d))
}

// Done ends a form: it redirects to a page of ours, which says what was done. A page that a script brings up to date
// has done nothing, and leaves the sentence of the form that was sent from it.
func (k *Core) Done(c echo.Context, to string, said words.Text) error {
	if !ByScript(c) {
		k.Sessions.Flash(c.Request().Context(), said)
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// DoneUndoably is Done with a button that undoes what was done, by a form that is sent to undo and then leads back.
func (k *Core) DoneUndoably(c echo.Context, to string, said words.Text, undo, back string) error {
	k.Sessions.offerUndo(c.Request().Context(), undo, back)
	return k.Done(c, to, said)
}

// Notification is a notification in the API, in events and on pages.
type Notification struct {
	ID             string    `json:"id"`
	Severity       string    `json:"severity" enum:"info,success,warning,error"`
	Title          string    `json:"title"`
	Message        string    `json:"message"`
	Detail         string    `json:"detail,omitempty"`
	Provider       string    `json:"provider"`
	Connection     string    `json:"connection" doc:"Its provider, and from the second connection on, a number."`
	Category       string    `json:"category"`
	Action         *Action   `json:"action"`
	CreatedAt      Time      `json:"created_at"`
	SeenAt         MaybeTime `json:"seen_at" doc:"When a page had shown it to the person."`
	AcknowledgedAt MaybeTime `json:"acknowledged_at" doc:"When the person dismissed it."`
	ResolvedAt     MaybeTime `json:"resolved_at"`
	Replaced       bool      `json:"replaced" doc:"Another one about the connection took its place. It is open again if that one is over first."`
	Place          Place     `json:"place" enum:"toast,banner,card,small," doc:"Where pages show it. As a toast until the person has seen it; in the banner or on the card of its connection until it is dismissed; small from then on; nowhere when it is over."`
	Choices        []Choice  `json:"-"`
}

// Choice is a button that answers the question of a notification.
type Choice struct{ URL, Value, Label string }

// Urgent says whether the notification is shown as a banner, because it needs a person.
func (n Notification) Urgent() bool { return n.Severity == string(notify.Error) }

// Action is what a notification asks a person to do.
type Action struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// ViewNotification returns the view of a notification for the reader of a context.
func ViewNotification(ctx context.Context, n notify.Notification) Notification {
	v := Notification{
		ID: strconv.FormatInt(n.ID, 10), Severity: string(n.Severity), Title: n.Title.T(ctx),
		Message: n.Says().T(ctx),
		Detail:  n.Detail, Provider: n.Connection.Provider(), Connection: string(n.Connection), Category: n.Category,
		CreatedAt: Stamp(n.CreatedAt),
		SeenAt:    Moment(n.SeenAt), AcknowledgedAt: Moment(n.AcknowledgedAt), ResolvedAt: Moment(n.ResolvedAt),
		Place: PlaceOf(n),
	}
	if !n.ReplacedAt.IsZero() {
		v.Replaced, v.ResolvedAt = true, Moment(n.ReplacedAt)
	}
	if playlist, ok := notify.CopyAsked(n.Cause); ok {
		to := "/playlists/" + playlist + "/copies/" + string(n.Connection)
		v.Choices = []Choice{{to, "rewrite", words.T(ctx, "copy.rewrite")}, {to, "leave", words.T(ctx, "copy.leave")}}
	}
	if n.Action.URL != "" {
		v.Action = &Action{Label: n.Action.Label.T(ctx), URL: n.Action.URL}
	}
	return v
}
