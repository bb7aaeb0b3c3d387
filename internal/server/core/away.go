package core

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

// Away answers a request that no server could answer, because another one is just taking over: a problem for programs,
// and for people a page that asks again by itself. It needs no database, so it knows nobody.
func Away(version string, base *Base) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, h := c.Request(), c.Response().Header()
		h.Set("Retry-After", strconv.Itoa(awayWait))
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		refusal, again := Refusal{Status: http.StatusServiceUnavailable, Title: words.New("problem.away.title"),
			Detail: words.New("problem.away.sent")}, ""
		switch {
		case reads && isAPI(c):
			refusal.Detail = words.New("problem.away.call")
		case reads:
			refusal.Detail, again = words.New("problem.away.page"), r.URL.RequestURI()
			h.Set("Refresh", strconv.Itoa(awayWait))
		}
		p := refusal.Problem(r.Context())
		if isAPI(c) {
			return writeProblem(c, p)
		}
		return base.write(c, p.Status, openFrame(c, version, p.Title), errorPage(p, again))
	}
}
