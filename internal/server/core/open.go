package core

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// listPath is the path of the addresses of playlists as files.
const listPath = "/list/"

// OpenList is the route of playlists for anybody who has the address of one. Its parameter is the share's code followed
// by the ending of a file format.
const OpenList = listPath + ":file"

// ListAddress returns the address of the playlist that is shared with a code. ending, such as ".m3u8", names the file
// format.
func (k *Core) ListAddress(code, ending string) string { return k.BaseURL() + listPath + code + ending }

// Unreferred is middleware that keeps browsers from passing a secret address on to other sites.
func Unreferred(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Referrer-Policy", "no-referrer")
		return next(c)
	}
}

// ShareStore keeps what people show to those who have an address.
type ShareStore interface {
	Share(ctx context.Context, user int64, kind, subject string) (library.Share, error)
	ShareByHash(ctx context.Context, kind, hash string) (library.Share, error)
	KeepShare(ctx context.Context, s library.Share) error
	DeleteShare(ctx context.Context, user int64, kind, subject string) error
}

// KeepShare stores what a person shows: at the address that it has, or at a new one, which made reports, if it has none
// or another is wanted.
func KeepShare(ctx context.Context, to ShareStore, s library.Share, another bool) (
	_ library.Share, made bool, err error) {
	if !another {
		if err = to.KeepShare(ctx, s); err == nil {
			s, err = to.Share(ctx, s.User, s.Kind, s.Subject)
			return s, false, err
		}
		if !errors.Is(err, library.ErrNotFound) {
			return s, false, err
		}
	}
	s.Code, s.MadeAt = rand.Text(), time.Now()
	s.Hash = accounts.HashToken(s.Code)
	return s, true, to.KeepShare(ctx, s)
}
