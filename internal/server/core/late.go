package core

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
)

// WaitForBody is middleware that waits for the whole body of a request and then asks once more whether its sender may
// still do that. Otherwise somebody about to lose a right could keep requests open, and finish them afterwards. What
// skip names reads its body itself, with Lasting.
func (k *Core) WaitForBody(skip func(echo.Context) bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if r.ContentLength == 0 || skip(c) {
				return next(c)
			}
			body, err := io.ReadAll(r.Body) // which is bounded for all but files
			if err != nil {
				if he, ok := errors.AsType[*echo.HTTPError](err); ok {
					return HTTPProblem(he.Code)
				}
				return HTTPProblem(http.StatusBadRequest)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err := k.stillMay(c); errors.Is(err, accounts.ErrUnknown) {
				return k.Sessions.toSignIn(c)
			} else if err != nil {
				return err
			}
			return next(c)
		}
	}
}

// stillMay looks at the session or the token of a request again. It is accounts.ErrUnknown or errToken when that has
// ended since; afterwards UserOf returns the user with today's role.
func (k *Core) stillMay(c echo.Context) error {
	ctx := c.Request().Context()
	if isOperator(c) {
		return nil
	}
	var u accounts.User
	var err error
	if visitOf(ctx).request != nil {
		u, err = k.Sessions.again(ctx)
	} else {
		secret, _ := bearerOf(c.Request())
		var b bearer
		b, err = k.Access.byHash(ctx, accounts.HashToken(secret))
		u = b.user
	}
	if err == nil {
		c.SetRequest(c.Request().WithContext(as(ctx, u)))
	}
	return err
}

// again returns the user of a session that is loaded, if it has not ended since, or accounts.ErrUnknown.
func (s *Sessions) again(ctx context.Context) (accounts.User, error) {
	if s.demoUser == 0 {
		_, there, err := s.rows.FindCtx(ctx, s.manager.Token(ctx))
		if err != nil {
			return accounts.User{}, err
		}
		if !there {
			return accounts.User{}, accounts.ErrUnknown
		}
	}
	return s.userByID(ctx, s.manager.GetInt64(ctx, userKey), visitOf(ctx).path())
}

// Lasting returns a reader of a file that a request sends. At its end it fails if the sender may not send it any more.
func (k *Core) Lasting(c echo.Context, file io.Reader) io.Reader { return lasting{file, k, c} }

type lasting struct {
	io.Reader
	core *Core
	c    echo.Context
}

// Read implements io.Reader.
func (l lasting) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		if gone := l.core.stillMay(l.c); gone != nil {
			return 0, gone
		}
	}
	return n, err
}
