package settings

import (
	"context"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// share stores whether everybody with an account may see the person's page of numbers. The log of what they did has
// each change.
func (h *Handler) share(c echo.Context, on bool) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	if on == user.SharesListening {
		return nil
	}
	if err := h.accounts.ShareListening(ctx, user.ID, on); err != nil {
		return err
	}
	what := activity.ListeningUnshared
	if on {
		what = activity.ListeningShared
	}
	h.core.Note(ctx, activity.Entry{Action: what, User: user.ID})
	return nil
}

func (h *Handler) sharingForm(c echo.Context) error {
	on := c.FormValue("on") == "yes"
	if err := h.share(c, on); err != nil {
		return err
	}
	if on {
		return h.core.Done(c, accountPath+"#sharing", words.New("account.shared"))
	}
	return h.core.Done(c, accountPath+"#sharing", words.New("account.unshared"))
}

// sharing returns the switch, and the sentence above it.
func (v accountView) sharing(ctx context.Context) (lead string, do ui.Action) {
	do = ui.Action{ID: "sharing-switch", Post: accountPath + "/sharing"}
	if v.User.SharesListening {
		do.Label = words.T(ctx, "account.share_off")
		return words.T(ctx, "account.share_on_lead"), do
	}
	do.Label, do.Fields = words.T(ctx, "account.share_on"), []ui.Hidden{{Name: "on", Value: "yes"}}
	return words.T(ctx, "account.share_off_lead"), do
}
