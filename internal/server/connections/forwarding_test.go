package connections_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/server/servertest"
)

func TestForwardingIsSwitchedOnAndCounted(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Hear("One", "Two", "Three")
		const path = "/connections/listenbrainz/forwarding"
		off := h.Call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, false, off["enabled"])
		require.EqualValues(t, 3, off["earlier_listens"])
		html := h.Page("/connections/listenbrainz")
		require.Contains(t, html, "Nothing goes back to where it came from.")
		require.Contains(t, html, "ListenBrainz doesn&#39;t have 3 earlier listens of yours.")
		require.Contains(t, h.Page("/connections/lastfm"), "Last.fm only accepts listens from the last 2 weeks.")
		require.NotContains(t, h.Page("/connections/spotify"), "Forward listens")

		h.Submit(path, http.StatusSeeOther, "forward", "on", "earlier", "yes")
		on := h.Call(http.MethodGet, path, "", http.StatusOK)
		require.Equal(t, true, on["enabled"])
		require.EqualValues(t, 3, on["waiting"])
		require.NotNil(t, on["next_attempt_at"])
		require.Contains(t, h.Page("/"), "3 earlier listens are included", "which promises nothing about them")
		h.Carry()
		h.Hear("Four")
		require.Contains(t, h.Page("/connections/listenbrainz"), "Next in line")
		h.Carry()
		h.Call(http.MethodPut, path, `{"earlier":false}`, http.StatusOK)
		h.Call(http.MethodPut, path, "", http.StatusOK)
		after := h.Call(http.MethodGet, path, "", http.StatusOK)
		require.EqualValues(t, 4, after["sent"])
		require.EqualValues(t, 0, after["waiting"])
		require.Nil(t, after["next_attempt_at"])
		require.Equal(t, []string{"One", "Two", "Three", "Four"}, h.Far.Taken)
		html = h.Page("/connections/listenbrainz")
		require.Contains(t, html, "Stop forwarding")
		require.Contains(t, html, "Sent <time", "each of the newest says what became of it")

		h.Submit(path, http.StatusSeeOther, "forward", "off")
		require.Contains(t, h.Page("/"), "no longer forwards listens to ListenBrainz")
		h.Hear("Five")
		require.EqualValues(t, 0, h.Call(http.MethodGet, path, "", http.StatusOK)["waiting"])
		h.Call(http.MethodDelete, path, "", http.StatusNoContent)
	})
}

// Switching forwarding on again does not skip listens that were read in between.
func TestForwardingTwiceLosesNothing(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		time.Sleep(10 * time.Minute)
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", `{}`, http.StatusOK)
		h.Heard("Heard before, read after", "Heard just now")
		require.EqualValues(t, 2, h.Call(http.MethodGet, "/connections/lastfm/forwarding", "",
			http.StatusOK)["waiting"])
	})
}

func TestForwardingIsRefusedWhereNotTaken(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for provider, status := range map[string]int{"spotify": http.StatusUnprocessableEntity,
			"navidrome": http.StatusUnprocessableEntity,
			"s3":        http.StatusUnprocessableEntity, "youtube": http.StatusNotFound,
			"nobody": http.StatusNotFound} {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				p := h.Call(method, "/connections/"+provider+"/forwarding", "", status)
				require.NotEmpty(t, p["detail"])
			}
		}
	})
}

func TestSendingManyEarlierListensAsksFirst(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		titles := make([]string, 2000+1)
		for i := range titles {
			titles[i] = "Song " + strconv.Itoa(i)
		}
		h.Hear(titles...)
		const path = "/connections/lastfm/forwarding"
		asked := h.Submit(path, http.StatusOK, "forward", "on", "earlier", "yes").Body.String()
		require.Contains(t, asked, "Send 2,001 earlier listens to Last.fm?")
		require.Contains(t, asked, `name="sure" value="yes"`)
		require.Equal(t, false, h.Call(http.MethodGet, path, "", http.StatusOK)["enabled"])
		h.Submit(path, http.StatusSeeOther, "forward", "on", "earlier", "yes", "sure", "yes")
		require.EqualValues(t, 2001, h.Call(http.MethodGet, path, "", http.StatusOK)["waiting"])
	})
}

func TestArchivePageShowsMonths(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/connections/s3"), "Nothing to archive yet.")
		_, err := h.Deliveries.Forward(t.Context(), h.User, "s3", true)
		require.NoError(t, err)
		h.Hear("One", "Two")
		require.Contains(t, h.Page("/deliveries?kind=archive"), "January 2000 to the archive")
		h.Carry()
		html := h.Page("/connections/s3")
		require.Contains(t, html, "2 listens in ")
		require.Contains(t, html, "All months are up to date.")
		require.Contains(t, html, "January 2000")
		require.NotContains(t, html, "Sync now", "there is nothing to read")

		h.Hear("Three")
		require.Contains(t, h.Page("/connections/s3"), "newer listens are waiting")
		h.Far.Fail(servertest.ErrUnreachable)
		h.Carry()
		require.Contains(t, h.Page("/connections/s3"), "1 month isn&#39;t up to date yet.")
	})
}

// The event says only that something changed; the browser fetches the page again.
func TestBrowsersReceiveDeliveryEvents(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	srv := httptest.NewServer(h)
	defer srv.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := srv.Client()
	client.Jar = jar
	first, err := client.Get(srv.URL + "/")
	require.NoError(t, err)
	page, err := io.ReadAll(first.Body)
	require.NoError(t, err)
	require.NoError(t, first.Body.Close())
	serial := regexp.MustCompile(`data-serial="(\d+)"`).FindSubmatch(page)
	require.NotNil(t, serial)

	stream, err := client.Get(srv.URL + "/api/v1/events/sse")
	require.NoError(t, err)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	event := func() (name, data string) {
		for lines.Scan() && lines.Text() != "" {
			if v, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = v
			}
			if v, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				data = v
			}
		}
		return name, data
	}
	name, data := event()
	require.Equal(t, "snapshot", name)
	require.Contains(t, data, fmt.Sprintf(`"serial":%s,`, serial[1]), "nothing has happened since the page was made")
	_, err = h.Deliveries.Forward(t.Context(), h.User, "lastfm", false)
	require.NoError(t, err)
	name, data = event()
	require.Equal(t, "deliveries", name)
	require.JSONEq(t, `{"type":"deliveries","seq":2,"data":{"provider":"lastfm","connection":"lastfm"}}`, data)
	h.Bus.Publish(h.User, events.Event{Type: events.Deliveries})
	_, data = event()
	require.JSONEq(t, `{"type":"deliveries","seq":3,"data":{"provider":null,"connection":null}}`, data)
	require.NotContains(t, h.Page("/"), string(serial[0]))
}

// A page that asks again gets nothing while it has not changed.
func TestAnOpenPageIsAnsweredCheaply(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Empty(t, h.Do(http.MethodGet, "/", "", "").Header().Get("ETag"))
		ask := func(tag string) *httptest.ResponseRecorder {
			return h.Knock(http.MethodGet, "/", "X-Reprise-Refresh", "/", "If-None-Match", tag)
		}
		first := ask("")
		require.Equal(t, http.StatusOK, first.Code)
		h.Bus.Publish(h.User, events.Event{Type: events.Deliveries})
		again := ask(first.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Empty(t, again.Body.Bytes())
		require.Equal(t, "no-store", again.Header().Get("Cache-Control"))
		h.Heard("Svefn-g-englar")
		require.Equal(t, http.StatusOK, ask(first.Header().Get("ETag")).Code)
	})
}

// What a browser prefers does not matter once its person has chosen.
func TestEventsAreInTheChosenLanguage(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	require.NoError(t, h.DB.SetChoices(t.Context(), h.User, accounts.Choices{Language: "de"}))
	srv := httptest.NewServer(h)
	defer srv.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := srv.Client()
	client.Jar = jar
	first, err := client.Get(srv.URL + "/")
	require.NoError(t, err)
	require.NoError(t, first.Body.Close())
	stream, err := client.Get(srv.URL + "/api/v1/events/sse")
	require.NoError(t, err)
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	snapshot := ""
	for !strings.HasPrefix(snapshot, "data:") {
		snapshot, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
	require.Contains(t, snapshot, "Pausieren")
}
