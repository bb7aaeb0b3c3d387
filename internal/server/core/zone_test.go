package core

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestTheZoneOfABrowser(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		url.QueryEscape("Europe/Berlin"): "Europe/Berlin",
		"Europe/Berlin":                  "Europe/Berlin",
		"Local":                          "UTC",
		"..%2F..%2Fetc%2Fpasswd":         "UTC",
		"Europe%2":                       "UTC",
		strings.Repeat("x", 100_000):     "UTC",
		"":                               "UTC",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/listens", nil)
		r.AddCookie(&http.Cookie{Name: zoneCookie, Value: sent})
		c := echo.New().NewContext(r, httptest.NewRecorder())
		require.Equal(t, want, Zone(c).String(), "%.40q", sent)
		chosen, err := time.LoadLocation("Asia/Tokyo")
		require.NoError(t, err)
		c.SetRequest(r.WithContext(words.WithZone(r.Context(), chosen)))
		require.Equal(t, chosen, Zone(c), "what a person has chosen counts more")
	}
}

func TestTheLanguageCookieIsSecureOverTLS(t *testing.T) {
	t.Parallel()
	k := &Core{Sessions: newSessions(Options{})}
	for _, tls := range []bool{false, true} {
		k.Sessions.over(tls)
		w := httptest.NewRecorder()
		k.setLanguage(echo.New().NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), w),
			"de", time.Hour)
		require.Equal(t, tls, w.Result().Cookies()[0].Secure)
	}
}
