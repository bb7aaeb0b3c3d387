package people

import (
	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/server/core"
)

// exportOther sends an administrator what belongs to another person. That person's log has it.
func (h *Users) exportOther(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	h.noteFor(c.Request().Context(), u.ID, activity.Entry{Action: activity.Exported, Subject: u.Name})
	return h.export.Send(c, u)
}

func (h *Users) exportAPI(c echo.Context, _ *core.UserID) (out core.Sent[core.None], _ error) {
	return out, h.exportOther(c)
}
