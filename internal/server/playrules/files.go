package playrules

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/bounded"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// download answers with all rules as a file, in the form of the API.
func (h *Handler) download(c echo.Context) error {
	all, err := h.list(c, nil)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="rules.json"`)
	return c.JSONPretty(http.StatusOK, all, "  ")
}

// mostUpload is the size of a file with rules, in bytes.
const mostUpload = 1 << 20

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
	same := func(r playrules.Rule) bool {
		return slices.ContainsFunc(have, func(o playrules.Rule) bool {
			o.ID = 0
			return slices.Equal(o.To, r.To) && equal(o, r)
		})
	}
	var all []playrules.Rule
	for _, f := range rules { // checked before any is stored, so that a wrong one stores none
		r := h.ruleOf(c, f, 0)
		if err := check(r); err != nil {
			return err
		}
		all = append(all, r)
	}
	n := 0
	for _, r := range all {
		if same(r) {
			continue
		}
		if r, err = h.save(ctx, r); err != nil {
			return err
		}
		have, n = append(have, r), n+1
	}
	return h.core.Done(c, path, words.New("playrules.uploaded", "Count", n))
}

// equal reports whether two rules are the same, but for their targets.
func equal(a, b playrules.Rule) bool {
	a.To, b.To, a.Zone, b.Zone = nil, nil, "", ""
	one, _ := json.Marshal(a) // plain values
	other, _ := json.Marshal(b)
	return string(one) == string(other)
}

// uploaded returns the rules of the file of a form.
func uploaded(c echo.Context) ([]PlayRuleBody, error) {
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
	body, err := io.ReadAll(io.LimitReader(f, mostUpload))
	if err != nil {
		return nil, err
	}
	var in struct {
		Rules []PlayRuleBody `json:"rules"`
	}
	if bounded.JSON(body, bounded.Answer) != nil || json.Unmarshal(body, &in) != nil || in.Rules == nil {
		return nil, none
	}
	return in.Rules, nil
}
