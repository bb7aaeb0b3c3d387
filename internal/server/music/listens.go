package music

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
)

func (h *Handler) listens(c echo.Context) (page []library.StoredListen, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	return h.store.Listens(c.Request().Context(), core.UserOf(c).ID, c.QueryParam("before"), n)
}

func (h *Handler) listensAPI(c echo.Context) error {
	page, next, err := h.listens(c)
	if err != nil {
		return err
	}
	cursor, err := json.Marshal(core.Text(next))
	if err != nil {
		return err
	}
	return h.core.Stream(c, `{"listens":[`, `],"next":`+string(cursor)+"}", func(offset int) ([]any, error) {
		return core.ViewAll(page[offset:], func(l library.StoredListen) any { return l.Record() }), nil
	})
}

type listensView struct {
	Listens []Row
	Next    string
	First   bool // the newest page
	Total   int
}

func (h *Handler) listensPage(c echo.Context) error {
	page, next, err := h.listens(c)
	if err != nil {
		return err
	}
	rows, err := h.rows.Of(c.Request().Context(), core.UserOf(c).ID, page)
	if err != nil {
		return err
	}
	total, err := h.store.CountListens(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return h.core.Render(c, http.StatusOK, "listens", "Listens",
		listensView{Listens: rows, Next: next, First: c.QueryParam("before") == "", Total: total})
}
