package channels_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

func TestChannelLifecycle(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Tells()
	far := servertest.NewPhone(t)

	far.Answers(http.StatusForbidden)
	status, answer := h.Ask("POST", "/api/v1/channels", `{"url":"`+far.Address("topic-12345")+`"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status, answer)
	require.Contains(t, answer, "ntfy doesn't allow messages to be sent there. Check the token, or what it may do. "+
		"Nothing was saved.")
	_, answer = h.Ask("GET", "/api/v1/channels", "")
	require.JSONEq(t, `{"channels":[]}`, answer)

	far.Answers(http.StatusOK)
	status, answer = h.Ask("POST", "/api/v1/channels",
		`{"name":"My phone","severity":"error","quiet_from":"22:30","quiet_to":"07:00",`+
			`"zone":"Europe/Vienna","url":"`+far.Address("topic-12345")+`"}`)
	require.Equal(t, http.StatusCreated, status, answer)
	require.NotContains(t, answer, "secret99")
	require.NotContains(t, answer, "topic")
	require.Contains(t, answer, "/…2345")
	var ch struct {
		ID, State string
		QuietFrom *string `json:"quiet_from"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &ch))
	require.Equal(t, "working", ch.State)
	require.Equal(t, "22:30", *ch.QuietFrom)

	status, answer = h.Ask("POST", "/api/v1/channels", `{"url":"`+far.Address("topic-12345")+`"}`)
	require.Equal(t, http.StatusConflict, status, answer)

	status, answer = h.Ask("PATCH", "/api/v1/channels/"+ch.ID, `{"severity":"info","quiet_from":"","quiet_to":""}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Contains(t, answer, `"severity":"info"`)
	require.Contains(t, answer, `"name":"My phone"`)
	require.Contains(t, answer, `"quiet_from":null`)

	status, answer = h.Ask("POST", "/api/v1/channels/"+ch.ID+"/test", "")
	require.Equal(t, http.StatusOK, status, answer)
	require.JSONEq(t, `{"message":"A test message should be on your phone now."}`, answer)
	require.Equal(t, []string{"Reprise can reach you here", "A test"}, far.Titles())
	far.Answers(http.StatusServiceUnavailable)
	status, answer = h.Ask("POST", "/api/v1/channels/"+ch.ID+"/test", "")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, answer, "My phone: It isn't working right now.")

	for _, page := range []string{"/settings/notifications", "/settings/notifications/" + ch.ID,
		"/settings/notifications/" + ch.ID + "/remove"} {
		status, html := h.Ask("GET", page, "")
		require.Equal(t, http.StatusOK, status, page)
		require.Contains(t, html, "My phone")
		require.NotContains(t, html, "secret99")
	}
	status, _ = h.Ask("DELETE", "/api/v1/channels/"+ch.ID, "")
	require.Equal(t, http.StatusNoContent, status)
	status, _ = h.Ask("DELETE", "/api/v1/channels/"+ch.ID, "")
	require.Equal(t, http.StatusNotFound, status)

	_, answer = h.Ask("GET", "/api/v1/activity", "")
	require.Equal(t, []string{"channel_removed", "channel_changed", "channel_added"},
		regexp.MustCompile(`channel_\w+`).FindAllString(answer, -1), "what was refused is not in the log")
	require.Contains(t, answer, "added the channel My phone.")
}

func TestInvalidChannelsAreRefused(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Tells()
	url := servertest.NewPhone(t).Address("topic")
	for body, want := range map[string]string{
		`{}`:                 "There's no such kind of channel.",
		`{"kind":"ntfy"}`:    "Fill in: Topic.",
		`{"url":"secret99"}`: "This isn't the address of a channel.",
		`{"url":"` + url + `","severity":"loud"}`:            "It is one of these: info, ",
		`{"url":"` + url + `","quiet_from":"25:00"}`:         "Write a time like 22:30.",
		`{"url":"` + url + `","quiet_from":"22:00"}`:         "Fill in both, or neither.",
		`{"url":"` + url + `","zone":"Vienna"}`:              "Reprise doesn't know this time zone.",
		`{"subscription":{"endpoint":"http://example.org"}}`: "This isn't what a browser sends",
	} {
		status, answer := h.Ask("POST", "/api/v1/channels", body)
		require.Equal(t, http.StatusUnprocessableEntity, status, body)
		require.Contains(t, answer, want, body)
		require.NotContains(t, answer, "secret99")
	}
	status, html := h.Ask("POST", "/settings/notifications",
		"kind=email&field_to=ann@example.org&field_password=secret99&severity=error")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, html, "Fill in: From.")
	require.Contains(t, html, "ann@example.org", "what was typed stays")
	require.NotContains(t, html, "secret99")
}

func TestChannelDeliveriesShowNameAndKind(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Tells()
	status, answer := h.Ask("POST", "/api/v1/channels",
		`{"name":"My phone","url":"`+servertest.NewPhone(t).Address("topic")+`"}`)
	require.Equal(t, http.StatusCreated, status, answer)
	require.NoError(t, h.Notifier.Open(t.Context(), notify.Notification{User: h.User, Cause: "auth",
		Severity: notify.Error, Title: words.Plain("Trouble")}))
	for _, path := range []string{"/api/v1/deliveries", "/api/v1/deliveries?provider=ntfy",
		"/deliveries?provider=ntfy"} {
		status, answer = h.Ask("GET", path, "")
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, answer, "Messages to My phone (ntfy)", path)
		require.NotContains(t, answer, "channel-", path)
	}
	require.Contains(t, answer, `<option value="ntfy" selected>ntfy</option>`)
	_, answer = h.Ask("GET", "/api/v1/deliveries?provider=gotify", "")
	require.Contains(t, answer, `"deliveries":[]`)
	_, answer = h.Ask("GET", "/api/v1/deliveries?kind=notify", "")
	require.Contains(t, answer, `"provider":"ntfy"`)
	status, _ = h.Ask("GET", "/api/v1/deliveries?provider=channel-1", "")
	require.Equal(t, http.StatusBadRequest, status)
}
