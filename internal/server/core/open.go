package core

import "github.com/labstack/echo/v4"

// listPath is the path of the addresses at which playlists are files.
const listPath = "/list/"

// OpenList is the route of playlists for anybody who has the address of one. Its parameter is the share's code with the
// ending of a form.
const OpenList = listPath + ":file"

// ListAddress returns the address of a playlist that is shared with a code, in the form with an ending such as ".m3u8".
func (k *Core) ListAddress(code, ending string) string { return k.BaseURL() + listPath + code + ending }

// Unreferred is middleware that keeps browsers from passing a secret address on to other sites.
func Unreferred(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Referrer-Policy", "no-referrer")
		return next(c)
	}
}
