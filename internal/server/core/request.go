package core

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
	mostOnPage   = 250 // rows of a page for people, with the longest names there can be less than 4 MiB
)

// patience is how long a person waits for a service before a page says what has become of it. The tries inside one call
// end by then.
const patience = 30 * time.Second

// Waits returns the context of a request whose person waits for what a service answers, for 30 seconds at most. What is
// to be stored after that needs another.
func Waits(c echo.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Request().Context(), patience)
}

// Limit reads the size of a page from a request: 1 to 1,000, 50 by default; a page for people has 250 at the most.
func Limit(c echo.Context) (int, error) {
	text := c.QueryParam("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, &Refusal{Status: http.StatusBadRequest, Title: words.New("problem.limit.title"),
			Detail: words.New("problem.limit.text")}
	}
	if !isAPI(c) {
		n = min(n, mostOnPage)
	}
	return n, nil
}

// Number reads an ID. What is no number names nothing, so the error is a 404.
func Number(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, HTTPProblem(http.StatusNotFound)
	}
	return id, nil
}

// Filled returns what a person filled into a form of a page, by the tags of T.
func Filled[T any](c echo.Context) (v T, err error) {
	if err = c.Bind(&v); err != nil {
		status := http.StatusBadRequest
		if he, ok := errors.AsType[*echo.HTTPError](err); ok {
			status = he.Code
		}
		return v, HTTPProblem(status)
	}
	return v, nil
}

// Form returns the fields of the form that a request carries. One that can't be read is a 400.
func Form(c echo.Context) (url.Values, error) {
	form, err := c.FormParams()
	if err != nil {
		return nil, HTTPProblem(http.StatusBadRequest)
	}
	return form, nil
}

// CameFrom returns the path of the page of ours that a request came from, and "/" if there is none to go back to.
func (k *Core) CameFrom(c echo.Context) string {
	u, err := url.Parse(c.Request().Referer())
	if err != nil || u.Host != c.Request().Host && u.Host != k.url.Load().Host {
		return "/"
	}
	u = k.Local(u)
	if strings.HasPrefix(u.Path, "/connect/") || u.Path == "/login" || u.Path == "/setup" {
		return "/"
	}
	return LocalPath(u.RequestURI())
}

// LocalPath returns path if it leads to a page of ours, and "/" otherwise.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return "/"
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/\\") {
		return "/"
	}
	return path
}

func isAPI(c echo.Context) bool { return strings.HasPrefix(c.Request().URL.Path, "/api/") }
