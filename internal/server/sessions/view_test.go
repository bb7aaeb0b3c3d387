package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

// Every browser but the one that looks can be signed out, and all others at once if there are any.
func TestOtherBrowsersCanBeSignedOut(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 22, 14, 5, 0, 0, time.UTC)
	desk := accounts.Session{ID: "desk", Agent: "Firefox on Linux", Address: "192.0.2.1", SignedInAt: at, UsedAt: at}
	phone := accounts.Session{ID: "phone", Agent: uitest.Hostile, Address: "192.0.2.2", SignedInAt: at, UsedAt: at,
		Way: accounts.ByIssuer, Issuer: "home"}
	of := func(all ...accounts.Session) string {
		return uitest.HTML(t, words.English, part(all, "desk", strings.ToUpper))
	}
	both := of(desk, phone)
	require.Contains(t, both, "this browser")
	require.Contains(t, both, "HOME", "what people call the issuer")
	require.Contains(t, both, `action="/settings/account/sessions/phone/end"`)
	require.NotContains(t, both, "/sessions/desk/end")
	require.Contains(t, both, `action="/settings/account/sessions/end"`)
	require.NotContains(t, of(desk), "/end")
	require.NotContains(t, of(), "<table")
	uitest.Sound(t, func(*words.Language) templ.Component {
		return part([]accounts.Session{desk, phone}, "desk", strings.ToUpper)
	})
}
