package accounts

import (
	"context"
	"strings"
	"time"

	"reprise/internal/words"
)

// Choices say how a person wants to read. Each is empty for what the browser and the device say.
type Choices struct {
	Language string // a code of the catalogue
	Zone     string // an IANA name of a time zone
	Theme    string // Light or Dark
}

// The themes.
const (
	Light = "light"
	Dark  = "dark"
)

// Reader returns a context for what a person reads: in their language, if they have chosen one, and in their zone.
func (c Choices) Reader(ctx context.Context) context.Context {
	if l := words.ByCode(c.Language); l != nil {
		ctx = words.With(ctx, l)
	}
	if c.Zone != "" {
		if zone, err := time.LoadLocation(c.Zone); err == nil {
			ctx = words.WithZone(ctx, zone)
		}
	}
	return ctx
}

// Elsewhere returns a context for what a person reads outside the browser. Without a choice the language is that of the
// browser in which they last signed in.
func (u User) Elsewhere(ctx context.Context) context.Context {
	if u.Language == "" {
		u.Language = u.BrowserLanguage
	}
	return u.Reader(ctx)
}

// ReaderIn returns a function that returns a context for what a person reads outside the browser. Without an account,
// or without an answer of the store, they read English.
func ReaderIn(store interface {
	UserByID(ctx context.Context, id int64) (User, error)
}) func(ctx context.Context, user int64) context.Context {
	return func(ctx context.Context, user int64) context.Context {
		u, err := store.UserByID(ctx, user)
		if err != nil {
			return ctx
		}
		return u.Elsewhere(ctx)
	}
}

// Choose stores how a person wants to read. What there is not is an InputError.
func (a *Accounts) Choose(ctx context.Context, user int64, c Choices) error {
	if c.Language != "" && words.ByCode(c.Language) == nil {
		var known []string
		for _, l := range words.Languages() {
			known = append(known, l.Name()+" ("+l.Code()+")")
		}
		return InputError{words.New("account.wrong_language", "Known", strings.Join(known, ", "))}
	}
	if _, ok := words.ZoneNamed(c.Zone); c.Zone != "" && !ok {
		return InputError{words.New("account.wrong_zone", "Zone", c.Zone)}
	}
	if c.Theme != "" && c.Theme != Light && c.Theme != Dark {
		return InputError{words.New("account.wrong_theme")}
	}
	return a.store.SetChoices(ctx, user, c)
}

// ShareListening stores whether everybody with an account may see a person's page of numbers.
func (a *Accounts) ShareListening(ctx context.Context, user int64, on bool) error {
	return a.store.ShareListening(ctx, user, on)
}
