package sessions_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/clocktest"
	"reprise/internal/server/core"
	"reprise/internal/server/servertest"
)

func TestPeopleSeeAndEndTheirSessions(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		_, err := h.Accounts.Create(t.Context(), "Cai", servertest.Password, "member", false)
		require.NoError(t, err)
		desk := h.Browser("192.0.2.1", servertest.Firefox, "Bea")
		begin := time.Now()
		time.Sleep(2 * time.Hour)
		script := h.Browser("192.0.2.2", "curl/8.14.1", "bea")
		cais := h.Browser("192.0.2.3", servertest.Firefox, "Cai")
		time.Sleep(30 * time.Minute)
		require.True(t, desk.IsSignedIn())

		all := desk.Listed()
		require.Len(t, all, 2, "the newest first, and nobody else's")
		require.Equal(t, []any{"curl", "192.0.2.2", false},
			[]any{all[0]["browser"], all[0]["address"], all[0]["current"]})
		require.Equal(t, []any{"Firefox on Linux", "192.0.2.1", true},
			[]any{all[1]["browser"], all[1]["address"], all[1]["current"]})
		at := func(v any) time.Time {
			when, err := time.Parse(time.RFC3339, v.(string))
			require.NoError(t, err)
			return when
		}
		require.WithinDuration(t, begin, at(all[1]["signed_in_at"]), time.Second)
		require.WithinDuration(t, time.Now(), at(all[1]["last_used_at"]), 10*time.Minute)
		page := servertest.Text(desk.Ask(http.MethodGet, "/settings/account", ""))
		require.Contains(t, page, "Firefox on Linux")
		require.Contains(t, page, "this browser")
		require.Contains(t, page, "Earlier sign-ins and failed attempts")

		id := all[0]["id"].(string)
		require.Equal(t, http.StatusNotFound, cais.Ask(http.MethodDelete, "/api/v1/sessions/"+id, "").Code)
		require.Equal(t, http.StatusNoContent, desk.Ask(http.MethodDelete, "/api/v1/sessions/"+id, "").Code)
		require.Equal(t, http.StatusNotFound, desk.Ask(http.MethodDelete, "/api/v1/sessions/"+id, "").Code)
		require.False(t, script.IsSignedIn())
		require.True(t, desk.IsSignedIn())
		require.True(t, cais.IsSignedIn())

		// everywhere else
		phone := h.Browser("192.0.2.4", servertest.Firefox, "Bea")
		tablet := h.Browser("192.0.2.5", servertest.Firefox, "Bea")
		require.JSONEq(t, `{"ended":2}`, desk.Ask(http.MethodDelete, "/api/v1/sessions", "").Body.String())
		require.False(t, phone.IsSignedIn() || tablet.IsSignedIn())
		require.True(t, desk.IsSignedIn())
		require.True(t, cais.IsSignedIn())
		require.Len(t, desk.Listed(), 1)

		phone = h.Browser("192.0.2.4", servertest.Firefox, "Bea")
		h.Session = desk.Cookies
		h.Submit("/settings/account/sessions/end", http.StatusSeeOther)
		require.False(t, phone.IsSignedIn())
		phone = h.Browser("192.0.2.4", servertest.Firefox, "Bea")
		h.Submit("/settings/account/sessions/"+phone.Listed()[0]["id"].(string)+"/end", http.StatusSeeOther)
		h.Session = desk.Cookies
		require.False(t, phone.IsSignedIn())
		require.Contains(t, h.Page("/activity"), "Bea signed out Firefox on Linux from 192.0.2.4.")

		require.NoError(t, h.Accounts.ResetPassword(t.Context(), "Bea", servertest.Password))
		require.Len(t, h.Browser("192.0.2.6", servertest.Firefox, "Bea").Listed(), 1, "no longer those of before")
	})
}

// late is a store of sessions in which something happens right before a session is stored.
type late struct {
	core.SessionStore
	before func()
}

func (l *late) Update(ctx context.Context, token string, data []byte, expiry time.Time) error {
	l.before()
	return l.SessionStore.Update(ctx, token, data, expiry)
}

func (l *late) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	l.before()
	return l.SessionStore.CommitCtx(ctx, token, data, expiry)
}

// A request that is under way while its session is ended does not bring it back.
func TestAnEndedSessionStaysEnded(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	store := &late{h.DB.Sessions(), func() {}}
	h.Sessions = store
	h.Restart()
	u, err := h.DB.UserByName(t.Context(), "Bea")
	require.NoError(t, err)
	thief := h.Browser("192.0.2.2", servertest.Firefox, "Bea")
	store.before = func() {
		store.before = func() {}
		n, err := h.DB.Sessions().EndOthers(t.Context(), u.ID, "of another browser")
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	w := thief.Ask(http.MethodPost, "/settings/account/sessions/end", "") // keeps a sentence in the session
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.False(t, thief.IsSignedIn())
	all, err := h.DB.Sessions().Of(t.Context(), u.ID)
	require.NoError(t, err)
	require.Empty(t, all)
}

// stamped is a store of sessions whose clock has been moved by that much since.
type stamped struct {
	core.SessionStore
	by time.Duration
}

func (s *stamped) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return s.SessionStore.CommitCtx(ctx, token, data, expiry.Add(-s.by))
}

// A session ends by the system clock, in 30 days: a few hours more or less sign nobody out.
func TestASetClockSignsNobodyOut(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	store := &stamped{SessionStore: h.DB.Sessions()}
	h.Sessions = store
	h.Restart()
	for name, d := range clocktest.Moves {
		store.by = d
		require.True(t, h.Browser("192.0.2.1", servertest.Firefox, "Bea").IsSignedIn(), name)
	}
}

// A script that signs in every minute does not fill the table.
func TestSessionsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	h := servertest.Public(t)
	u, err := h.DB.UserByName(t.Context(), "Bea")
	require.NoError(t, err)
	first := h.Browser("192.0.2.1", servertest.Firefox, "Bea")
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			token := fmt.Sprint("token ", i)
			if err := h.DB.Sessions().CommitCtx(t.Context(), token, nil, time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			use := accounts.Session{UsedAt: time.Now()}
			if err := h.DB.Sessions().Use(t.Context(), token, u.ID, use, 50); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	sessions, err := h.DB.Sessions().Of(t.Context(), u.ID)
	require.NoError(t, err)
	require.Len(t, sessions, 50)
	require.False(t, first.IsSignedIn(), "the one that was not used for longest ends")
}

// One write in five minutes is enough to say when a session was used.
func TestUseOfASessionIsWrittenSeldom(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		desk := h.Browser("192.0.2.1", servertest.Firefox, "Bea")
		used := func() any { return desk.Listed()[0]["last_used_at"] }
		time.Sleep(time.Hour)
		before := used()
		time.Sleep(4 * time.Minute)
		require.Equal(t, before, used())
		time.Sleep(2 * time.Minute)
		require.NotEqual(t, before, used())
		desk.Address = "198.51.100.1"
		require.True(t, desk.IsSignedIn())
		require.Equal(t, "198.51.100.1", desk.Listed()[0]["address"], "another address is written at once")
	})
}
