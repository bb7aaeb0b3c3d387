package core

import (
	"github.com/labstack/echo/v4"

	"reprise/web/ui"
)

// Noticer returns what a page says beside what it is about; nil for nothing.
type Noticer func(c echo.Context) (*ui.Notice, error)

// AddNotice has every page ask n. Call it before anything is served.
func (k *Core) AddNotice(n Noticer) { k.notices = append(k.notices, n) }

func (k *Core) noticesOn(c echo.Context) (all []ui.Notice, err error) {
	for _, n := range k.notices {
		one, err := n(c)
		if err != nil {
			return all, err
		}
		if one != nil {
			all = append(all, *one)
		}
	}
	return all, nil
}
