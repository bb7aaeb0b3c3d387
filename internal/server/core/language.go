package core

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

// languageCookie keeps the language that somebody chose in this browser on a page that needs no account.
const (
	languageCookie = "reprise_language"
	languageLife   = 400 * 24 * time.Hour // browsers keep no cookie for longer
)

// Speak is middleware that puts the language of the reader into the context of a request: what was chosen in this
// browser, else what it prefers. The choice of a person who is signed in counts more (see as).
func Speak(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, chosen := c.Request(), ""
		if cookie, err := r.Cookie(languageCookie); err == nil {
			chosen = cookie.Value
		}
		c.Response().Header().Add("Vary", "Accept-Language")
		l := words.Match(chosen, r.Header.Get("Accept-Language"))
		c.SetRequest(r.WithContext(words.With(r.Context(), l)))
		return next(c)
	}
}

// SpeakFrom is the handler of the switch of languages on pages that need no account.
func (k *Core) SpeakFrom(c echo.Context) error {
	to := LocalPath(c.FormValue("return_to"))
	l := words.ByCode(c.FormValue("language"))
	if l == nil {
		return HTTPProblem(http.StatusBadRequest)
	}
	k.setLanguage(c, l.Code(), languageLife)
	return c.Redirect(http.StatusSeeOther, to)
}

// ForgetLanguage drops the language that was chosen in this browser: its person has chosen since.
func (k *Core) ForgetLanguage(c echo.Context) { k.setLanguage(c, "", -time.Second) }

func (k *Core) setLanguage(c echo.Context, code string, life time.Duration) {
	c.SetCookie(&http.Cookie{Name: languageCookie, Value: code, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: k.Sessions.cookies.Load().prefix != "",
		SameSite: http.SameSiteLaxMode})
}
