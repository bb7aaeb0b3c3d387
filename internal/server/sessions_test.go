package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/clocktest"
	"reprise/internal/server/core"
)

// browser is a signed-in browser of Bea's.
type browser struct {
	*household
	cookies []*http.Cookie
	agent   string
	address string
}

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"

func (h *household) browser(address, agent, name string) *browser {
	h.t.Helper()
	b := &browser{household: h, agent: agent, address: address}
	w := b.ask(http.MethodPost, "/api/v1/session", fmt.Sprintf(`{"name":%q,"password":%q}`, name, password))
	require.Equal(h.t, http.StatusCreated, w.Code, w.Body)
	b.cookies = w.Result().Cookies()
	return b
}

func (b *browser) ask(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", b.agent)
	r.RemoteAddr = b.address + ":1"
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// sessions returns what a browser learns about the sessions of its user.
func (b *browser) sessions() []map[string]any {
	b.t.Helper()
	w := b.ask(http.MethodGet, "/api/v1/sessions", "")
	require.Equal(b.t, http.StatusOK, w.Code, w.Body)
	var all struct{ Sessions []map[string]any }
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &all))
	return all.Sessions
}

func (b *browser) isSignedIn() bool {
	return b.ask(http.MethodGet, "/api/v1/connections", "").Code == http.StatusOK
}

func TestPeopleSeeAndEndTheirSessions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := public(t)
		_, err := h.Accounts.Create(t.Context(), "Cai", password, "member", false)
		require.NoError(t, err)
		desk := h.browser("192.0.2.1", firefox, "Bea")
		begin := time.Now()
		time.Sleep(2 * time.Hour)
		script := h.browser("192.0.2.2", "curl/8.14.1", "bea")
		cais := h.browser("192.0.2.3", firefox, "Cai")
		time.Sleep(30 * time.Minute)
		require.True(t, desk.isSignedIn())

		all := desk.sessions()
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
		page := text(desk.ask(http.MethodGet, "/settings/account", ""))
		require.Contains(t, page, "Firefox on Linux")
		require.Contains(t, page, "this browser")

		id := all[0]["id"].(string)
		require.Equal(t, http.StatusNotFound, cais.ask(http.MethodDelete, "/api/v1/sessions/"+id, "").Code)
		require.Equal(t, http.StatusNoContent, desk.ask(http.MethodDelete, "/api/v1/sessions/"+id, "").Code)
		require.Equal(t, http.StatusNotFound, desk.ask(http.MethodDelete, "/api/v1/sessions/"+id, "").Code)
		require.False(t, script.isSignedIn())
		require.True(t, desk.isSignedIn())
		require.True(t, cais.isSignedIn())

		// everywhere else
		phone, tablet := h.browser("192.0.2.4", firefox, "Bea"), h.browser("192.0.2.5", firefox, "Bea")
		require.JSONEq(t, `{"ended":2}`, desk.ask(http.MethodDelete, "/api/v1/sessions", "").Body.String())
		require.False(t, phone.isSignedIn() || tablet.isSignedIn())
		require.True(t, desk.isSignedIn())
		require.True(t, cais.isSignedIn())
		require.Len(t, desk.sessions(), 1)

		phone = h.browser("192.0.2.4", firefox, "Bea")
		h.session = desk.cookies
		h.submit("/settings/account/sessions/end", http.StatusSeeOther)
		require.False(t, phone.isSignedIn())
		phone = h.browser("192.0.2.4", firefox, "Bea")
		h.submit("/settings/account/sessions/"+phone.sessions()[0]["id"].(string)+"/end", http.StatusSeeOther)
		h.session = desk.cookies
		require.False(t, phone.isSignedIn())
		require.Contains(t, h.page("/activity"), "Bea signed out Firefox on Linux from 192.0.2.4.")
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
	h := public(t)
	store := &late{h.db.Sessions(), func() {}}
	h.Sessions = store
	h.restart()
	u, err := h.db.UserByName(t.Context(), "Bea")
	require.NoError(t, err)
	thief := h.browser("192.0.2.2", firefox, "Bea")
	store.before = func() {
		store.before = func() {}
		n, err := h.db.Sessions().EndOthers(t.Context(), u.ID, "of another browser")
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	w := thief.ask(http.MethodPost, "/settings/account/sessions/end", "") // keeps a sentence in the session
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.False(t, thief.isSignedIn())
	all, err := h.db.Sessions().Of(t.Context(), u.ID)
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
	h := public(t)
	store := &stamped{SessionStore: h.db.Sessions()}
	h.Sessions = store
	h.restart()
	for name, d := range clocktest.Moves {
		store.by = d
		require.True(t, h.browser("192.0.2.1", firefox, "Bea").isSignedIn(), name)
	}
}

// A script that signs in every minute does not fill the table.
func TestSessionsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	h := public(t)
	u, err := h.db.UserByName(t.Context(), "Bea")
	require.NoError(t, err)
	first := h.browser("192.0.2.1", firefox, "Bea")
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			token := fmt.Sprint("token ", i)
			if err := h.db.Sessions().CommitCtx(t.Context(), token, nil, time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			use := accounts.Session{UsedAt: time.Now()}
			if err := h.db.Sessions().Use(t.Context(), token, u.ID, use, 50); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	sessions, err := h.db.Sessions().Of(t.Context(), u.ID)
	require.NoError(t, err)
	require.Len(t, sessions, 50)
	require.False(t, first.isSignedIn(), "the one that was not used for longest ends")
}

// One write in five minutes is enough to say when a session was used.
func TestUseOfASessionIsWrittenSeldom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := public(t)
		desk := h.browser("192.0.2.1", firefox, "Bea")
		used := func() any { return desk.sessions()[0]["last_used_at"] }
		time.Sleep(time.Hour)
		before := used()
		time.Sleep(4 * time.Minute)
		require.Equal(t, before, used())
		time.Sleep(2 * time.Minute)
		require.NotEqual(t, before, used())
		desk.address = "198.51.100.1"
		require.True(t, desk.isSignedIn())
		require.Equal(t, "198.51.100.1", desk.sessions()[0]["address"], "another address is written at once")
	})
}
