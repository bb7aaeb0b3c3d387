package deliveries_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/servertest"
)

func TestDeadLetterIsRedrivenByHand(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Far.Refuses = "Poison"
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("Ára bátur", "Poison", "Hoppípolla")
		h.Carry()

		require.EqualValues(t, map[string]any{"scheduled": 0.0, "running": 0.0, "retrying": 0.0, "parked": 0.0,
			"dead": 1.0, "done": 1.0}, h.States())
		dead := h.Only("state=dead")
		require.Equal(t, "Poison by Sigur Rós to Last.fm", dead["subject"])
		require.Equal(t, "It is too old for this service.", dead["reason"])
		require.Equal(t, "item", dead["category"])
		require.Equal(t, "POST /submit answered 400: no", dead["last_answer"])
		require.NotNil(t, dead["ended_at"])
		require.Nil(t, dead["next_attempt_at"])
		done := h.Only("state=done")
		require.Equal(t, "2 listens to Last.fm", done["subject"])

		html := h.Page("/deliveries?state=dead&provider=lastfm")
		require.Contains(t, html, "Poison by Sigur Rós to Last.fm")
		require.Contains(t, html, "<pre>POST /submit answered 400: no</pre>")
		require.Contains(t, html, `title="1 item could not be sent"`, "every page says so in its navigation")
		require.NotContains(t, html, "2 listens to Last.fm")

		id, other := dead["id"].(string), done["id"].(string)
		require.Contains(t, h.Call(http.MethodPost, "/deliveries/"+other+"/redrive", "",
			http.StatusConflict)["detail"], "It has already been sent.")
		require.Contains(t, h.Call(http.MethodDelete, "/deliveries/"+other, "", http.StatusConflict)["detail"],
			"It has already been sent.")
		h.Far.Refuses = ""
		h.Call(http.MethodPost, "/deliveries/"+id+"/redrive", "", http.StatusAccepted)
		require.Contains(t, h.Call(http.MethodPost, "/deliveries/"+id+"/redrive", "",
			http.StatusConflict)["detail"], "goes out by itself")
		h.Carry()
		require.EqualValues(t, 2, h.States()["done"])
		require.NotContains(t, h.Page("/"), "dead letter")
	})
}

func TestDiscardAsksWhatIsLostFirst(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodPut, "/connections/listenbrainz/forwarding", `{}`, http.StatusOK)
		h.Hear("One", "Two")
		h.Hear("Three", "Four")
		first := h.Call(http.MethodGet, "/deliveries?limit=1", "", http.StatusOK)
		require.Len(t, first["deliveries"], 1)
		second := h.Only("limit=1&before=" + first["next"].(string))
		require.Equal(t, "2 listens to ListenBrainz", second["subject"])

		path := fmt.Sprintf("/deliveries/%s/discard", second["id"])
		require.Contains(t, h.Page(path), "These 2 listens stay in your history here, but they won&#39;t "+
			"reach ListenBrainz.")
		require.EqualValues(t, 2, h.States()["scheduled"], "to look changes nothing")
		require.Equal(t, "/deliveries?state=scheduled", h.Submit(path, http.StatusSeeOther, "back",
			"/deliveries?state=scheduled").Header().Get("Location"))
		h.Call(http.MethodDelete, "/deliveries/"+second["id"].(string), "", http.StatusNotFound)

		h.Call(http.MethodDelete, "/deliveries/"+h.Only("")["id"].(string), "", http.StatusNoContent)
		require.EqualValues(t, 0, h.States()["scheduled"])
		total, err := h.DB.CountListens(t.Context(), h.User)
		require.NoError(t, err)
		require.Equal(t, 4, total)
	})
}

func TestRedriveAllAsksWithTheNumberFirst(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{Schedule: delivery.Schedule{First: time.Minute}})
		h.Far.Fail(servertest.ErrUnreachable)
		h.Call(http.MethodPut, "/connections/listenbrainz/forwarding", `{}`, http.StatusOK)
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("One")
		h.Carry()
		require.EqualValues(t, 2, h.States()["retrying"])
		waiting := h.Only("provider=lastfm")
		require.Equal(t, "Last.fm can't be reached.", waiting["reason"])
		require.NotNil(t, waiting["next_attempt_at"])
		require.EqualValues(t, 1, waiting["attempts"])

		dry := h.Call(http.MethodPost, "/deliveries/redrive",
			`{"filter":{"state":"retrying","provider":"lastfm"},"dry_run":true}`, http.StatusOK)
		require.Equal(t, map[string]any{"count": 1.0, "dry_run": true}, dry)
		require.EqualValues(t, 0, h.Call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusOK)["count"],
			"without a state it means the dead letters")
		require.Contains(t, h.Page("/deliveries?list=all"), `href="/deliveries/redrive"`)
		asked := h.Page("/deliveries/redrive?provider=lastfm")
		require.Contains(t, asked, "Send 1 item again?")
		require.Contains(t, asked, "1 item that Reprise would try again later")
		require.EqualValues(t, 2, h.States()["retrying"], "to look changes nothing")
		h.Submit("/deliveries/redrive", http.StatusSeeOther, "provider", "lastfm")
		require.EqualValues(t, 1, h.States()["retrying"])
		require.Contains(t, h.Page("/deliveries"), "1 item goes out again now.")
		require.Equal(t, http.StatusSeeOther, h.Do(http.MethodGet, "/deliveries/redrive?state=dead", "", "").Code,
			"there are none")
	})
}

func TestUnknownFilterNamesAreRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for query, want := range map[string]string{
			"state=ded": "scheduled, running, retrying, parked, dead, done", "kind=scrobbles": "submit_listens, " +
				"scrobble, delete_listens, write_playlist, write_loves, archive",
			"provider=spotify": "lastfm, listenbrainz, navidrome, s3, youtube",
			"category=broken":  "auth, permission, config", "limit=0": "1 to 1000", "before=x": "next",
		} {
			require.Contains(t, h.Call(http.MethodGet, "/deliveries?"+query, "", http.StatusBadRequest)["detail"],
				want, query)
			require.Equal(t, http.StatusBadRequest, h.Do(http.MethodGet, "/deliveries?"+query, "", "").Code, query)
		}
		h.Call(http.MethodPost, "/deliveries/redrive", `{"filter":{"state":"ded"}}`,
			http.StatusUnprocessableEntity)
		h.Call(http.MethodPost, "/deliveries/redrive", `{"filter":{"state":"parked"}}`,
			http.StatusUnprocessableEntity)
		for _, id := range []string{"0", "-1", "99", "x"} {
			h.Call(http.MethodPost, "/deliveries/"+id+"/redrive", "", http.StatusNotFound)
			h.Call(http.MethodDelete, "/deliveries/"+id, "", http.StatusNotFound)
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/deliveries/"+id+"/discard", "", "").Code)
		}
		h.Call(http.MethodPost, "/deliveries/redrive", `{"filter":{"id":"x"}}`, http.StatusNotFound)
		require.EqualValues(t, 0, h.Call(http.MethodPost, "/deliveries/redrive", `{"filter":{"id":"99"}}`,
			http.StatusOK)["count"])
		require.Contains(t, h.Page("/deliveries"), "Forward my listens to Last.fm",
			"an empty page names the next step")
		require.Contains(t, h.Page("/deliveries?state=dead"), "Nothing matches this filter.")
	})
}

func TestParkedDeliveriesSayWhatTheyWaitFor(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Far.Fail(servertest.Answer(http.StatusUnauthorized, resilience.Auth, resilience.ScopeConnection, ""))
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("One", "Two", "Three")
		h.Carry()

		parked := h.Only("state=parked")
		require.Equal(t, "Reconnect Last.fm. It goes out once that's fixed.", parked["reason"])
		require.Nil(t, parked["next_attempt_at"])
		c := h.Call(http.MethodGet, "/connections/lastfm", "", http.StatusOK)
		require.EqualValues(t, 3, c["parked_deliveries"])
		require.Equal(t, "needs_reconnect", c["state"])
		require.Contains(t, c["message"], "3 listens are waiting")
		h.Call(http.MethodPost, "/deliveries/"+parked["id"].(string)+"/redrive", "", http.StatusConflict)

		html := h.Page("/connections/lastfm")
		require.Contains(t, html, "waiting for you")
		require.Contains(t, html, "3 listens are waiting to be sent to Last.fm.")
		require.Contains(t, html, "what&#39;s waiting to be sent there")
		h.Submit("/connections/lastfm/disconnect", http.StatusSeeOther, "data", "keep")
		require.Contains(t, h.Page("/"), "3 listens are waiting to be sent, and go out when you connect it again.")
		require.Equal(t, "Last.fm isn't connected. It goes out when you connect it again.",
			h.Only("state=parked")["reason"])

		h.Connect("lastfm")
		h.Call(http.MethodPost, "/connections/lastfm/pause", "", http.StatusAccepted)
		require.Equal(t, "Last.fm is paused. It goes out when you press Resume.", h.Only("state=parked")["reason"])
		require.Contains(t, h.Call(http.MethodGet, "/connections/lastfm", "", http.StatusOK)["message"],
			"3 listens are waiting.")
		h.Call(http.MethodDelete, "/connections/lastfm?data=delete", "", http.StatusNoContent)
		require.EqualValues(t, 0, h.States()["parked"])
	})
}

// A full backlog takes nothing more, and the answer says when to try again.
func TestRequestsAboveTheBacklogLimitGet429(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{BacklogLimit: 3})
		h.Hear("One", "Two", "Three", "Four", "Five", "Six")
		h.Call(http.MethodPut, "/connections/listenbrainz/forwarding", `{"earlier":true}`, http.StatusOK)
		require.EqualValues(t, 3, h.States()["scheduled"])

		w := h.Do(http.MethodPut, "/api/v1/connections/lastfm/forwarding", `{"earlier":true}`, "application/json")
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		require.Equal(t, "60", w.Header().Get("Retry-After"))
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Contains(t, w.Body.String(), "3 items are already waiting")
		h.Call(http.MethodPost, "/deliveries/redrive", `{}`, http.StatusTooManyRequests)
		h.Call(http.MethodPost, "/deliveries/redrive", `{"dry_run":true}`, http.StatusOK)
		refused := h.Submit("/connections/lastfm/forwarding", http.StatusTooManyRequests, "forward", "on",
			"earlier", "yes")
		require.Equal(t, "60", refused.Header().Get("Retry-After"))
		require.Contains(t, refused.Body.String(), "Too much is waiting")
		require.EqualValues(t, 3, h.States()["scheduled"])
	})
}

func TestDeliveriesOfOthersAreNotFound(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("One")
		mine := h.Only("")["id"].(string)
		h.As(h.Other("Bob"))
		require.EqualValues(t, 0, h.States()["scheduled"])
		h.Call(http.MethodDelete, "/deliveries/"+mine, "", http.StatusNotFound)
		h.Call(http.MethodPost, "/deliveries/"+mine+"/redrive", "", http.StatusNotFound)
	})
}

// An open breaker is not one more failure, and the page says what is waited for.
func TestAnOpenBreakerSaysSoOnThePage(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		opens := time.Now().Add(10 * time.Minute)
		h.Far.Fail(&backoff.NotBeforeError{Endpoint: "POST /submit", State: backoff.State{
			Kind: backoff.Waiting, Category: resilience.CircuitOpen, Scope: resilience.ScopeEndpoint, Until: opens}})
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("One")
		h.Carry()
		waiting := h.Only("state=scheduled")
		require.Contains(t, waiting["reason"], "so Reprise pauses for a while. This doesn't count as a try.")
		require.Equal(t, "circuit_open", waiting["category"])
		require.EqualValues(t, 0, waiting["attempts"])
		next, err := time.Parse(time.RFC3339, waiting["next_attempt_at"].(string))
		require.NoError(t, err)
		require.False(t, next.Before(opens.Truncate(time.Second)))
		require.Contains(t, h.Page("/deliveries?list=all"), "Reprise pauses for a while")
	})
}

func TestSyncNowAndTryAgainAnswerWhatTheyDo(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{Schedule: delivery.Schedule{First: time.Hour}})
		synced := h.Call(http.MethodPost, "/connections/lastfm/sync", "", http.StatusAccepted)
		require.Equal(t, false, synced["followed"])
		h.Submit("/connections/lastfm/sync", http.StatusSeeOther)
		require.Contains(t, h.Page("/"), "Last.fm: sync started.")

		h.Far.Fail(servertest.ErrUnreachable)
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("One")
		h.Carry()
		require.EqualValues(t, 1, h.States()["retrying"])
		h.Far.Fail(nil)
		h.Carry()
		require.EqualValues(t, 1, h.States()["retrying"], "its next attempt is an hour away")
		h.Submit("/connections/lastfm/retry", http.StatusSeeOther)
		require.Contains(t, h.Page("/"), "Anything waiting to be sent goes out too.")
		h.Carry()
		require.EqualValues(t, 1, h.States()["done"])
	})
}

func TestDeadLettersAreGroupedByReason(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Far.Refuses = "Poison"
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		for range 12 {
			h.Hear("Poison")
		}
		h.Carry()
		require.EqualValues(t, 12, h.States()["dead"])
		html := h.Page("/deliveries?list=all")
		require.Contains(t, html, "12 listens could not be sent to Last.fm. ")
		require.Contains(t, html, "Reprise tries again once a day. Next try: ")
		require.Equal(t, 10, strings.Count(html, "Poison by Sigur Rós to Last.fm</h2>"),
			"the others on their own page")
		dead := h.Call(http.MethodGet, "/deliveries?state=dead&limit=1", "", http.StatusOK)["deliveries"].([]any)[0]
		reason := dead.(map[string]any)["reason"].(string)
		ended, err := time.Parse(time.RFC3339, dead.(map[string]any)["ended_at"].(string))
		require.NoError(t, err)
		look, err := time.Parse(time.RFC3339, dead.(map[string]any)["next_look_at"].(string))
		require.NoError(t, err)
		require.Equal(t, 24*time.Hour, look.Sub(ended))
		id := dead.(map[string]any)["reason_id"].(string)
		for _, by := range []string{id, reason} {
			all := h.Call(http.MethodGet, "/deliveries?reason="+url.QueryEscape(by), "", http.StatusOK)
			require.Len(t, all["deliveries"], 12, by)
		}
		query := "state=dead&reason=" + url.QueryEscape(reason)
		require.Equal(t, 12, strings.Count(h.Page("/deliveries?"+query), "Poison by Sigur Rós to Last.fm</h2>"))

		h.Call(http.MethodPost, "/connections/lastfm/pause", "", http.StatusAccepted)
		html = h.Page("/deliveries?list=all")
		require.NotContains(t, html, "once a day", "nothing is while the connection is paused")
		require.Contains(t, html, "when you press “Send again”")
		h.Call(http.MethodPost, "/connections/lastfm/resume", "", http.StatusAccepted)

		body := `{"filter":{"reason":"` + reason + `"},"dry_run":true}`
		require.EqualValues(t, 12, h.Call(http.MethodPost, "/deliveries/redrive", body, http.StatusOK)["count"])
		require.EqualValues(t, 12, h.Call(http.MethodPost, "/deliveries/discard", body, http.StatusOK)["count"])
		other := `{"filter":{"reason":"Another one."},"dry_run":true}`
		require.EqualValues(t, 0, h.Call(http.MethodPost, "/deliveries/redrive", other, http.StatusOK)["count"])
		h.Call(http.MethodPost, "/deliveries/discard", `{"filter":{"state":"retrying"}}`,
			http.StatusUnprocessableEntity)
		asked := h.Page("/deliveries/redrive?" + query)
		require.Contains(t, asked, "Send 12 items again?")
		require.Contains(t, asked, `name="reason"`)
		require.Contains(t, h.Page("/deliveries/discard?"+query), "Discard 12 items?")
		require.EqualValues(t, 12, h.States()["dead"], "to look changes nothing")
		h.Submit("/deliveries/discard", http.StatusSeeOther, "state", "dead", "reason", reason)
		require.EqualValues(t, 0, h.States()["dead"])
	})
}

func TestWhatIsSentIsShownInGroups(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/deliveries"), "Nothing is waiting to be sent")
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Hear("One", "Two", "Three")
		h.Carry()
		require.Contains(t, h.Page("/deliveries"), "3 listens to Last.fm.")
		h.Call(http.MethodPost, "/connections/lastfm/pause", "", http.StatusAccepted)
		h.Hear("Four", "Five")
		h.Carry()
		page := h.Page("/deliveries")
		require.Contains(t, page, "2 listens for Last.fm are waiting for you.")
		require.NotContains(t, page, "arked")
		require.NotContains(t, page, "ead letter")
	})
}
