package connections

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

type chooseView struct {
	ID       string
	Provider *providers.Provider
	Old, New string
	Moved    bool // it may be the same server at a new address
	ReturnTo string
}

func (h *connect) showChoice(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	choice, err := h.connections.Choices(c.Request().Context(), core.UserOf(c).ID, id)
	if errors.Is(err, library.ErrNotFound) {
		return c.Redirect(http.StatusSeeOther, "/")
	}
	if err != nil {
		return err
	}
	v := chooseView{ID: string(id), Provider: p, Old: choice.Old, New: choice.New, Moved: choice.Moved,
		ReturnTo: h.returnTo(c)}
	ctx := c.Request().Context()
	title := words.T(ctx, "connect.which", "Name", p.Called())
	if v.Moved {
		title = words.T(ctx, "connect.moved")
	}
	return h.core.Show(c, http.StatusOK, title, choosePage(title, v))
}

// choices are what a person can make of another account, by the values of the form.
var choices = map[string]syncer.Choice{"old": syncer.Keep, "new": syncer.Replace, "another": syncer.Another,
	"moved": syncer.Moved}

func (h *connect) chooseForm(c echo.Context) error {
	id, _, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	user, choice := core.UserOf(c).ID, choices[c.FormValue("account")]
	chosen, err := h.connections.Choose(ctx, user, id, choice)
	if err != nil {
		return err
	}
	said := words.New("connect.stays", "Name", h.statuses.label(ctx, user, id))
	switch choice {
	case syncer.Moved:
		said = words.New("connect.is_moved", "Name", h.statuses.label(ctx, user, chosen.ID))
	case syncer.Replace, syncer.Another:
		said = words.New("connect.is_other", "Name", h.statuses.label(ctx, user, chosen.ID), "Account", chosen.Account)
	}
	return h.core.Done(c, core.LocalPath(c.FormValue("return_to")), said)
}

// choiceLead says what was found.
func choiceLead(ctx context.Context, v chooseView) string {
	if v.Moved {
		return words.T(ctx, "connect.moved_lead", "Old", v.Old, "New", v.New)
	}
	return words.T(ctx, "connect.which_lead", "Old", v.Old, "New", v.New)
}

// choiceOption is one thing that a person can make of it.
type choiceOption struct {
	Value, Label, Help string
	Main               bool
}

// choiceOptions returns all of them, the likeliest first.
func choiceOptions(ctx context.Context, v chooseView) []choiceOption {
	service, old, other := v.Provider.DisplayName, v.Old, v.New
	both := choiceOption{Value: "another", Label: words.T(ctx, "connect.keep_both"),
		Help: words.T(ctx, "connect.keep_both_help", "Old", old, "New", other)}
	if v.Moved {
		return []choiceOption{
			{Value: "moved", Label: words.T(ctx, "connect.same_server"), Main: true,
				Help: words.T(ctx, "connect.same_server_help")},
			{Value: "old", Label: words.T(ctx, "connect.stay", "Old", old),
				Help: words.T(ctx, "connect.stay_moved_help")},
			{Value: "new", Label: words.T(ctx, "connect.other_server", "New", other),
				Help: words.T(ctx, "connect.other_server_help", "Old", old, "New", other)},
			both,
		}
	}
	return []choiceOption{
		{Value: "old", Label: words.T(ctx, "connect.stay", "Old", old), Main: true,
			Help: words.T(ctx, "connect.stay_help", "Service", service, "Old", old)},
		{Value: "new", Label: words.T(ctx, "connect.change", "New", other),
			Help: words.T(ctx, "connect.change_help", "Old", old, "New", other)},
		both,
	}
}
