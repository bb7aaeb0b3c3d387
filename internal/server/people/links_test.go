package people_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/server/servertest"
)

func TestAnInvitedPersonJoinsOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		var log lines
		h.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		h.Restart()
		made := h.Call(http.MethodPost, "/admin/invitations", `{"name":"Carol","role":"member"}`, http.StatusCreated)
		path := strings.TrimPrefix(made["url"].(string), h.BaseURL)
		code := path[strings.LastIndex(path, "/")+1:]
		require.Contains(t, h.Page("/settings/people"), "Carol")
		require.Contains(t, h.Page("/settings/people/invitations/"+made["id"].(string)), code, "it is shown again")

		h.DemoUser = 0
		h.Restart()
		preview := &stranger{h: h}
		for range 3 { // a chat shows what is behind the link
			require.Equal(t, http.StatusSeeOther, preview.do(http.MethodGet, path).Code)
		}
		carol := &stranger{h: h}
		opened := carol.do(http.MethodGet, path)
		require.Equal(t, "/invitation", opened.Header().Get("Location"))
		require.Equal(t, "no-referrer", opened.Header().Get("Referrer-Policy"))
		require.Equal(t, "no-store", opened.Header().Get("Cache-Control"))
		page := carol.do(http.MethodGet, "/invitation")
		require.Equal(t, http.StatusOK, page.Code)
		require.Contains(t, page.Body.String(), `value="Carol"`)
		require.Contains(t, page.Body.String(), "Ann has invited you.")
		require.NotContains(t, page.Body.String(), code)
		refused := carol.do(http.MethodPost, "/invitation", "name", "Ann", "password", "a good password")
		require.Equal(t, http.StatusConflict, refused.Code)
		require.Contains(t, refused.Body.String(), "Choose another name")
		require.Equal(t, http.StatusSeeOther,
			carol.do(http.MethodPost, "/invitation", "name", "Carola", "password", "a good password").Code)
		require.Equal(t, http.StatusOK, carol.do(http.MethodGet, "/listens").Code, "signed in")
		require.Equal(t, http.StatusForbidden, carol.do(http.MethodGet, "/settings/people").Code)
		for _, again := range []*stranger{preview, {h: h}} {
			require.Equal(t, http.StatusGone, again.do(http.MethodGet, path).Code)
			require.Equal(t, http.StatusGone, again.do(http.MethodGet, "/invitation").Code)
		}
		h.Session = nil
		h.Call(http.MethodPost, "/invitation", `{"code":"`+code+`","name":"Eve","password":"a good password"}`,
			http.StatusGone)

		h.As(h.User)
		h.Page("/")
		require.Equal(t, "/settings/people", h.Knock(http.MethodGet, "/settings/people/invitations/"+
			made["id"].(string)).Header().Get("Location"))
		require.Contains(t, h.Page("/settings/people"), "That link no longer works: it has been used")
		require.Contains(t, h.Page("/activity"), "Carola accepted an invitation.")
		users := h.Call(http.MethodGet, "/admin/users", "", http.StatusOK)["users"].([]any)
		require.NotNil(t, users[1].(map[string]any)["last_seen_at"])
		all, _, err := h.DB.Activity(t.Context(), activity.Filter{User: h.User, Installation: true}, "", 100)
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprint(all), code)
		require.NotContains(t, log.String(), code)
	})
}

// Making a new password by a link signs the other browsers out, and keeps guesses slow.
func TestALinkResetsAPassword(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ben, err := h.Accounts.Create(t.Context(), "Ben", "the first password", accounts.Member, false)
		require.NoError(t, err)
		page := fmt.Sprint("/settings/people/", ben.ID, "/reset")
		require.Equal(t, page, h.Submit(page, http.StatusSeeOther).Header().Get("Location"), "a reload repeats nothing")
		_, rest, _ := strings.Cut(h.Page(page), `id="link-made">`+h.BaseURL)
		path, _, _ := strings.Cut(rest, "<")
		require.True(t, strings.HasPrefix(path, "/reset/"))
		h.DemoUser = 0
		h.Restart()
		other := &stranger{h: h}
		require.Equal(t, http.StatusSeeOther,
			other.do(http.MethodPost, "/login", "name", "Ben", "password", "the first password").Code)
		require.Equal(t, http.StatusOK, other.do(http.MethodGet, "/listens").Code)
		watching := h.Bus.Subscribe(ben.ID)
		defer watching.Close()
		me := &stranger{h: h}
		me.do(http.MethodGet, path)
		require.Contains(t, me.do(http.MethodGet, "/reset").Body.String(), "Ben")
		require.Equal(t, http.StatusUnprocessableEntity,
			me.do(http.MethodPost, "/reset", "password", "short").Code)
		require.Equal(t, http.StatusSeeOther,
			me.do(http.MethodPost, "/reset", "password", "the second password").Code)
		require.Equal(t, events.Access, (<-watching.C).Type)
		log, _, err := h.DB.Activity(t.Context(), activity.Filter{User: ben.ID}, "", 10)
		require.NoError(t, err)
		var did []activity.Action
		for _, e := range log {
			did = append(did, e.Action)
		}
		require.Contains(t, did, activity.ResetLinkMade)
		require.Contains(t, did, activity.PasswordChanged)
		require.Equal(t, http.StatusOK, me.do(http.MethodGet, "/listens").Code)
		require.Equal(t, http.StatusSeeOther, other.do(http.MethodGet, "/listens").Code, "signed out")
		slow := 0
		for range 30 {
			if (&stranger{h: h}).do(http.MethodGet, "/reset/GUESS").Code == http.StatusTooManyRequests {
				slow++
			}
		}
		require.Greater(t, slow, 10)
	})
}

// A link to an address of this machine opens nothing on the phone of who gets it. Of an invitation, People says so
// before it is made.
func TestALinkForThisComputerOnlySaysSo(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	bob := strconv.FormatInt(h.Other("Bob"), 10)
	page := func(path string, fields ...string) string {
		return h.Page(h.Submit(path, http.StatusSeeOther, fields...).Header().Get("Location"))
	}
	reset := func(base string) string {
		h.BaseURL = base
		h.Restart()
		return page("/settings/people/" + bob + "/reset")
	}
	const warning, before = "This link only works on this computer.", "first enter the address by which they reach"
	require.Contains(t, reset("http://127.0.0.1:8420"), warning)
	require.Contains(t, h.Page("/settings/people"), before)
	require.NotContains(t, page("/settings/people/invitations", "name", "Carol", "role", "member"), warning)
	require.NotContains(t, reset("http://192.168.1.5:8420"), warning)
	require.NotContains(t, h.Page("/settings/people"), before)
}
