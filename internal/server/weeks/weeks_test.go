package weeks_test

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/server/servertest"
)

// hears stores n plays of a track, one a minute from a time on. Today is Saturday, 1 January 2000.
func hears(h *servertest.Household, from library.ConnectionID, title, artist, at string, n int) {
	h.T.Helper()
	first, err := time.Parse("2006-01-02 15:04", at)
	require.NoError(h.T, err)
	all := make([]library.Listen, n)
	for i := range all {
		all[i] = library.Listen{SourceID: fmt.Sprint(title, at, i), PlayedAt: first.Add(time.Duration(i) * time.Minute),
			Track: library.Track{Title: title, Artist: artist, Album: "Album of " + artist, Duration: 3 * time.Minute}}
	}
	_, err = h.DB.SaveListens(h.T.Context(), library.Intake{User: h.User, Connection: from, Listens: all})
	require.NoError(h.T, err)
}

func contains(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, want := range all {
		require.True(t, strings.Contains(page, want), want)
	}
}

// The page of a week is made from what two services reported, and leads to the weeks before and after it.
func TestAWeekIsTold(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		contains(t, h.Page("/listening/weeks"), "No week to look back on yet.", `href="/imports"`)
		hears(h, "lastfm", "Hunter", "Björk", "1999-12-15 20:00", 4)
		hears(h, "lastfm", "Hunter", "Björk", "1999-12-20 20:00", 3)
		hears(h, "listenbrainz", "Army & <Me>", "Björk", "1999-12-22 20:00", 2)
		hears(h, "listenbrainz", "Svefn", "Sigur Rós", "1999-12-26 23:00", 6)
		require.NoError(t, h.DB.SaveLove(t.Context(), h.User, library.Love{Title: "Svefn", Artist: "Sigur Rós",
			Score: library.Loved, At: time.Date(1999, 12, 26, 23, 30, 0, 0, time.UTC)}))
		require.NoError(t, h.DB.SaveLove(t.Context(), h.User, library.Love{Title: "Hunter", Artist: "Björk",
			Score: library.Loved, At: time.Date(1999, 12, 27, 0, 0, 0, 0, time.UTC)}))
		go303 := h.Do(http.MethodGet, "/listening/weeks", "", "")
		require.Equal(t, "/listening/weeks/1999-12-20", go303.Header().Get("Location"))
		page := h.Page("/listening/weeks/1999-12-20")
		contains(t, page, "20–26 December 1999", "11 listens, 33 minutes of music by 2 artists.",
			"That&#39;s 2.8 times as much as in the week before.", "Sunday had the most music, with 6 listens.",
			"Heard for the first time", "Army &amp; &lt;Me&gt;", "New among your loved tracks", "Svefn by Sigur Rós",
			`href="/listening/weeks/1999-12-13"`, `href="/listening/weeks/1999-12-27"`,
			"/listening?at=1999-12-26&amp;span=day", "at=1999-12-20&amp;span=week", "Download PNG")
		require.NotContains(t, page, "Hunter by Björk", "it was loved a moment later")
		require.NotContains(t, page, "language model")
		contains(t, h.Page("/listening?at=1999-12-22&span=week"), `href="/listening/weeks/1999-12-20"`)

		moved := h.Do(http.MethodGet, "/listening/weeks/1999-12-22", "", "")
		require.Equal(t, "/listening/weeks/1999-12-20", moved.Header().Get("Location"))
		for _, none := range []string{"2000-01-10", "1999-12-32", "x", "0000-01-01"} {
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/listening/weeks/"+none, "", "").Code, none)
			require.Equal(t, http.StatusNotFound, h.Knock(http.MethodGet, "/api/v1/stats/weeks/"+none).Code, none)
		}
		first := h.Page("/listening/weeks/1999-12-13")
		contains(t, first, "It all began on 15 December 1999.")
		require.NotContains(t, first, "Heard for the first time")
		silent := h.Page("/listening/weeks/1999-12-06")
		contains(t, silent, "You didn&#39;t hear anything during this week.", "Show your latest week")
		now := h.Page("/listening/weeks/1999-12-27")
		contains(t, now, "You didn&#39;t hear anything during this week.")
		require.NotContains(t, now, `href="/listening/weeks/2000-01-03"`, "it has not begun")
		hears(h, "lastfm", "Hunter", "Björk", "1999-12-31 20:00", 3)
		contains(t, h.Page("/listening/weeks/1999-12-27"), "This week isn&#39;t over yet.",
			"40% less than by the same time in the week before.")
		h.As(h.Other("Ben"))
		contains(t, h.Page("/listening/weeks/1999-12-20"), "You didn&#39;t hear anything during this week.")
	})
}

func TestAWeekForPrograms(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		hears(h, "lastfm", "Hunter", "Björk", "1999-12-15 20:00", 4)
		hears(h, "listenbrainz", "Svefn", "Sigur Rós", "1999-12-26 23:00", 6)
		v := h.Call(http.MethodGet, "/stats/weeks/1999-12-20", "", http.StatusOK)
		require.Equal(t, true, v["over"])
		require.EqualValues(t, 6, v["totals"].(map[string]any)["listens"])
		require.EqualValues(t, 4, v["before"].(map[string]any)["listens"])
		days := v["days"].([]any)
		require.Len(t, days, 7)
		require.Equal(t, map[string]any{"date": "1999-12-26", "listens": 6.0}, days[6])
		require.Equal(t, "Sigur Rós", v["new"].([]any)[0].(map[string]any)["name"])
		require.Empty(t, v["back"])
		h.Call(http.MethodGet, "/stats/weeks/1999-12-21", "", http.StatusNotFound)
		for query, width := range map[string]int{"": 1200, "?theme=dark&shape=square": 1080} {
			w := h.Knock(http.MethodGet, "/api/v1/stats/weeks/1999-12-20/card.png"+query)
			require.Equal(t, http.StatusOK, w.Code)
			m, err := png.Decode(bytes.NewReader(w.Body.Bytes()))
			require.NoError(t, err)
			require.Equal(t, width, m.Bounds().Dx())
			require.Equal(t, http.StatusNotModified, h.Knock(http.MethodGet, "/api/v1/stats/weeks/1999-12-20/card.png"+
				query, "If-None-Match", w.Header().Get("ETag")).Code)
		}
		svg := h.Knock(http.MethodGet, "/api/v1/stats/weeks/1999-12-20/card.svg")
		contains(t, svg.Body.String(), "Your week, 20–26 December 1999. 6 listens",
			"Track of the week: Svefn by Sigur Rós.")
		require.Equal(t, http.StatusBadRequest,
			h.Knock(http.MethodGet, "/api/v1/stats/weeks/1999-12-20/card.svg?theme=pink").Code)
		require.Equal(t, http.StatusOK, h.Knock(http.MethodGet, "/api/v1/stats/weeks/1999-12-06/card.png").Code)
	})
}

// The page of a week begins with what a language model wrote about it.
func TestTheDigestOfTheWeekIsOnTop(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		hears(h, "lastfm", "Hunter", "Björk", "1999-12-22 20:00", 4)
		require.NoError(t, h.DB.SaveDigest(t.Context(), digest.Digest{User: h.User, Week: "1999-12-20",
			State: digest.Written, WrittenAt: time.Now(),
			Completion: providers.Completion{Text: "You hunted.\n\nAll week.", Model: "writer-1"}}))
		page := h.Page("/listening/weeks/1999-12-20")
		contains(t, page, "You hunted.", "All week.", "by writer-1")
		require.NotContains(t, page, "/listening/weeks/1999-12-13", "nothing was heard before it")
		require.Less(t, strings.Index(page, "You hunted."), strings.Index(page, "4 listens"))
	})
}

// A person switches the report to their mailbox on and off on the page of any week.
func TestAPersonSwitchesTheReportOn(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Tells()
		hears(h, "lastfm", "Hunter", "Björk", "1999-12-22 20:00", 4)
		contains(t, h.Page("/listening/weeks/1999-12-20"), "Add your e-mail address first",
			`href="/settings/notifications?add=email#adding"`)
		add := func(kind string) string {
			ch, err := h.DB.AddChannel(t.Context(), notify.Channel{User: h.User, Kind: kind, Name: "My " + kind,
				URL: "smtp://127.0.0.1:1/?from=a@example.org&to=ann@example.org", Wishes: notify.DefaultWishes()})
			require.NoError(t, err)
			return fmt.Sprint(ch.ID)
		}
		mail, phone := add("email"), add("ntfy")
		page := h.Page("/listening/weeks/1999-12-20")
		contains(t, page, "My email", "Send it every Monday")
		require.NotContains(t, page, "My ntfy")
		w := h.Submit("/listening/weeks/1999-12-20/mail", http.StatusSeeOther, "channel", mail, "enabled", "yes")
		require.Equal(t, "/listening/weeks/1999-12-20#mail", w.Header().Get("Location"))
		contains(t, h.Page("/listening/weeks/1999-12-20"), "Your week now comes to My email on Monday mornings.",
			"Turn off")
		contains(t, h.Page("/settings/notifications"), "Your week in music comes here on Mondays.",
			`href="/listening/weeks#mail"`)
		contains(t, h.Page("/activity"), "My email")
		h.Call(http.MethodPut, "/channels/"+mail+"/report", `{"enabled":false}`, http.StatusOK)
		contains(t, h.Page("/listening/weeks/1999-12-20"), "Send it every Monday")
		h.Call(http.MethodPut, "/channels/"+phone+"/report", `{"enabled":true}`, http.StatusUnprocessableEntity)
		h.Call(http.MethodPut, "/channels/999/report", `{"enabled":true}`, http.StatusNotFound)
		h.Submit("/listening/weeks/1999-12-06/send", http.StatusSeeOther, "channel", mail)
		contains(t, h.Page("/listening/weeks/1999-12-06"), "Nothing was sent, because you didn&#39;t hear anything")
		h.Submit("/listening/weeks/x/send", http.StatusNotFound, "channel", mail)
		h.As(h.Other("Ben"))
		h.Call(http.MethodPut, "/channels/"+mail+"/report", `{"enabled":true}`, http.StatusNotFound)
		h.Submit("/listening/weeks/1999-12-20/send", http.StatusNotFound, "channel", mail)
	})
}

// If the mail server refuses the report, the page says so at once.
func TestSendingAWeekNowSaysWhatFailed(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Tells()
	now := time.Now().UTC().AddDate(0, 0, -7)
	monday := now.AddDate(0, 0, -(int(now.Weekday())+6)%7).Format(time.DateOnly)
	hears(h, "lastfm", "Hunter", "Björk", monday+" 20:00", 4)
	ch, err := h.DB.AddChannel(t.Context(), notify.Channel{User: h.User, Kind: "email", Name: "My mailbox",
		URL:    "smtp://127.0.0.1:1/?from=a@example.org&to=ann@example.org&encryption=none",
		Wishes: notify.DefaultWishes()})
	require.NoError(t, err)
	h.Submit("/listening/weeks/"+monday+"/send", http.StatusSeeOther, "channel", fmt.Sprint(ch.ID))
	contains(t, h.Page("/listening/weeks/"+monday), "My mailbox: ")
}
