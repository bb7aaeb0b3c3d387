package playrules

import (
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// download answers with all rules as a file.
func (h *Handler) download(c echo.Context) error {
	all, err := h.store.PlayRules(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+playrules.FileName+`"`)
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().WriteHeader(http.StatusOK)
	return playrules.Write(c.Response(), all, nil)
}

// uploadForm adds those rules of a file that the person does not have yet.
func (h *Handler) uploadForm(c echo.Context) error {
	rules, err := uploaded(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	have, err := h.store.PlayRules(ctx, user)
	if err != nil {
		return err
	}
	for i := range rules { // checked before any is stored, so that a wrong one stores none
		rules[i].ID, rules[i].User, rules[i].Zone = 0, user, core.ZoneName(c)
		if err := check(rules[i]); err != nil {
			return err
		}
	}
	n := 0
	for _, r := range rules {
		if slices.ContainsFunc(have, r.Same) {
			continue
		}
		if r, err = h.save(ctx, r); err != nil {
			return err
		}
		have, n = append(have, r), n+1
	}
	return h.core.Done(c, path, words.New("playrules.uploaded", "Count", n))
}

// uploaded returns the rules of the file of a form.
func uploaded(c echo.Context) ([]playrules.Rule, error) {
	none := core.Check(words.New("playrules.no_file"))
	file, err := c.FormFile("file")
	if err != nil {
		return nil, none
	}
	f, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rules, err := playrules.Read(f, nil)
	if errors.Is(err, playrules.ErrFile) {
		err = none
	}
	return rules, err
}
