package core

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/events"
	"reprise/internal/library"
)

// oneUser is a store with one account and no token.
type oneUser struct{ Store }

var ann = accounts.User{ID: 7, Name: "Ann", PasswordHash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"}

func (oneUser) TokenByHash(context.Context, string) (accounts.Token, error) {
	return accounts.Token{}, library.ErrNotFound
}

func (oneUser) UserByID(_ context.Context, id int64) (accounts.User, error) {
	if id != ann.ID {
		return accounts.User{}, accounts.ErrUnknown
	}
	return ann, nil
}

// noSession is a store of sessions that has none.
type noSession struct{ SessionStore }

func (noSession) FindCtx(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

// stranger returns a request's status behind the door that calls of the API pass.
func stranger(t testing.TB, k *Core, header, value string) int {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/connections", nil)
	r.Header[header] = []string{value} // as it comes, also what net/http would refuse
	w := httptest.NewRecorder()
	c := echo.New().NewContext(r, w)
	c.SetPath("/api/v1/connections")
	err := k.Access.MayCall(func(c echo.Context) error { return c.NoContent(http.StatusOK) })(c)
	if err != nil {
		return k.Problem(c, err).Status
	}
	return w.Code
}

func lonely(t testing.TB) *Core {
	t.Helper()
	k, err := New(Options{BaseURL: "https://music.example.org", AdminToken: "sixteen-characters-and-more",
		Store: oneUser{}, Sessions: noSession{}, Bus: &events.Bus{}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return k
}

// FuzzCookie sends any cookies: nobody is signed in by them, and no device is known but by its own mark.
func FuzzCookie(f *testing.F) {
	mark := newMark(ann, time.Now())
	for _, value := range []string{"", "reprise_session=x", "__Host-reprise_session=x; reprise_session=y", "=", ";;;",
		"__Host-reprise_device=7.1.A.B", "__Host-reprise_device=~~~~~~", "reprise_device=" + mark,
		"__Host-reprise_device=7." + strings.Repeat("9", 40) + ".A.B", "__Host-reprise_device=-7.-1..",
		"__Host-reprise_session=\x00\xff", `__Host-reprise_session="x"`} {
		f.Add(value)
	}
	k := lonely(f)
	f.Fuzz(func(t *testing.T, value string) {
		require.Equal(t, http.StatusUnauthorized, stranger(t, k, "Cookie", value))
		r := httptest.NewRequest(http.MethodGet, "/login", nil)
		r.Header["Cookie"] = []string{value}
		require.Empty(t, k.Sessions.device(r, ann))
		w := httptest.NewRecorder()
		k.Sessions.rememberDevice(w, r, ann)
		set := w.Result().Cookies()
		require.Len(t, set, 1)
		require.Less(t, len(set[0].Value), 1000)
		r.Header["Cookie"] = []string{set[0].Name + "=" + set[0].Value}
		require.NotEmpty(t, k.Sessions.device(r, ann), "what the browser keeps names it next time")
	})
}

// FuzzMark changes a valid mark of a device: no other text than itself is one.
func FuzzMark(f *testing.F) {
	now := time.Unix(1_800_000_000, 0) // each process of the fuzzer makes the same mark
	facts := "7.1799999999.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	mark := facts + "." + markCode(ann, facts)
	for _, other := range []string{"", ".", "...", mark, mark + ".", "0" + mark, strings.ToLower(mark), mark + "=",
		strings.Replace(mark, "7.", "7.0", 1), strings.Replace(mark, "7.", "+7.", 1)} {
		f.Add(other)
	}
	f.Fuzz(func(t *testing.T, other string) {
		require.Equal(t, other == mark, isMark(other, ann, now), other)
		require.False(t, isMark(other, accounts.User{ID: 7}, now), "an account without a password has none")
	})
}

// FuzzBearer sends any Authorization header: it is refused, unless it is the admin token, which is no person's.
func FuzzBearer(f *testing.F) {
	for _, value := range []string{"", "Bearer", "Bearer ", "bearer reprise_x", "Basic YTpi", "BEARER\tx",
		"Bearer \x00", "Bearer sixteen-characters-and-mor",
		"Bearer  sixteen-characters-and-more", "Negotiate x", "Bearer a b c"} {
		f.Add(value)
	}
	k := lonely(f)
	f.Fuzz(func(t *testing.T, value string) {
		status := stranger(t, k, "Authorization", value)
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, status)
		if status == http.StatusForbidden {
			require.Contains(t, value, "sixteen-characters-and-more")
		}
	})
}
