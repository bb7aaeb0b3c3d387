package corrections

import (
	"context"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const inventedPath = "/corrections/invented"

// inventedItem returns the row of n listens that were never played, with the way to delete them.
func inventedItem(ctx context.Context, n int) ui.Item {
	i := ui.Item{ID: "invented", Picture: &ui.Picture{}, Note: words.T(ctx, "suspicious.why_invented", "Count", n),
		Title: ui.Named{Text: words.T(ctx, "suspicious.invented", "Count", n)}}
	i.Aside = ui.Actions([]ui.Action{{ID: "delete-invented", Post: inventedPath, DescribedBy: i.ID,
		Label: words.T(ctx, "suspicious.delete_invented", "Count", n)}})
	return i
}

type countInventedListensAnswer struct {
	Count int `json:"count" minimum:"0"`
}

func (h *Handler) inventedAPI(c echo.Context, _ *core.None) (out countInventedListensAnswer, _ error) {
	ids, err := h.store.Invented(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return countInventedListensAnswer{Count: len(ids)}, nil
}

// deleteInvented deletes the listens that were never played. It returns library.ErrNotFound if there are none.
func (h *Handler) deleteInvented(c echo.Context) (made library.Correction, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	ids, err := h.store.Invented(ctx, user)
	if err != nil {
		return made, err
	}
	if len(ids) == 0 {
		return made, library.ErrNotFound
	}
	return h.store.DeleteListens(ctx, library.Selection{ListenFilter: library.ListenFilter{User: user}, IDs: ids})
}

func (h *Handler) deleteInventedAPI(c echo.Context, _ *core.None) (out Correction, _ error) {
	made, err := h.deleteInvented(c)
	if err != nil {
		return out, err
	}
	return View(made), nil
}

func (h *Handler) deleteInventedForm(c echo.Context) error {
	made, err := h.deleteInvented(c)
	if err != nil {
		return err
	}
	return h.done(c, suspiciousPath, words.New("corrections.deleted", "Count", made.Listens), made)
}
