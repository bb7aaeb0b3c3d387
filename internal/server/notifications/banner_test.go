package notifications_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// The banner stays hidden when the script of that page refreshes it.
func TestBannerIsHiddenOnThePageThatSolvesIt(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.NoError(t, h.Notifier.Open(t.Context(), notify.Notification{User: h.User, Connection: "spotify",
			Cause: "auth", Severity: notify.Error,
			Title: words.Plain(
				"Spotify needs to be reconnected",
			), Action: notify.Action{Label: words.Plain("Reconnect"),
				URL: "/connect/spotify"}}))
		h.Page("/")
		for page, shown := range map[string]bool{"/": false, "/connections/spotify": false,
			"/listens": true, "/connect/spotify": false,
			"/connect/spotify/choose": false, "/notifications": false} {
			fresh := h.Knock(http.MethodGet, "/", "X-Reprise-Refresh", page).Body.String()
			_, banner, _ := strings.Cut(fresh, `id="banner-`)
			banner, _, _ = strings.Cut(banner, ">")
			require.NotEmpty(t, banner, page)
			require.Equal(t, shown, !strings.Contains(banner, "hidden"), page)
		}
	})
}

// A notice that is not urgent has a button, too, except on the page that it leads to.
func TestNoticeHasOneButton(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for provider, action := range map[library.ConnectionID]notify.Action{
			"spotify": {Label: words.Plain("Reconnect"), URL: "/connect/spotify"},
			"lastfm":  {Label: words.Plain("Look at it"), URL: "/connections/lastfm"}} {
			require.NoError(t, h.Notifier.Open(t.Context(), notify.Notification{User: h.User, Connection: provider,
				Cause: "x", Severity: notify.Warning, Title: words.Plain("A notice"), Action: action}))
		}
		require.Contains(t, h.Page("/"), `<a class="button" href="/connect/spotify">Reconnect</a>`)
		require.Contains(t, h.Page("/connections/spotify"),
			`<a class="button" href="/connect/spotify">Reconnect</a>`)
		require.Contains(t, h.Page("/"), `<a class="button" href="/connections/lastfm">Look at it</a>`)
		require.Contains(t, h.Page("/connections/lastfm"), "A notice.")
		require.NotContains(t, h.Page("/connections/lastfm"), "Look at it")
	})
}

// The focus does not go back to the top of the page.
func TestAcknowledgingMovesTheFocusToTheNext(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for _, conn := range []library.ConnectionID{"spotify", "lastfm", "listenbrainz"} {
			require.NoError(t, h.Notifier.Open(t.Context(), notify.Notification{User: h.User, Connection: conn,
				Cause: "a", Severity: notify.Warning, Title: words.Plain("A notice")}))
		}
		all, err := h.DB.Notifications(t.Context(), h.User, true)
		require.NoError(t, err)
		page := h.Page("/notifications")
		for _, step := range []struct{ seen, next int }{{1, 2}, {2, 0}, {0, -1}} {
			next := "notifications"
			if step.next >= 0 {
				next = fmt.Sprintf("notification-%d", all[step.next].ID)
			}
			require.Regexp(t, `id="`+next+`"[^>]* tabindex="-1"`, page, "what can have the focus")
			w := h.Submit(fmt.Sprintf("/notifications/%d/ack", all[step.seen].ID), http.StatusSeeOther)
			require.Equal(t, "/notifications#"+next, w.Header().Get("Location"))
		}
	})
}
