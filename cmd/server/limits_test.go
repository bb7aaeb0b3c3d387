package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/players"
)

// agreeable answers every call as a server that is content.
type agreeable struct{}

func (agreeable) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// atOnce sends 30 requests at the same time, and returns how many had each status.
func (l *living) atOnce(ask func(n int) *http.Request) map[int]int {
	l.t.Helper()
	answers := make([]*httptest.ResponseRecorder, 30)
	requests := make([]*http.Request, len(answers))
	for n := range requests {
		requests[n] = ask(n)
	}
	var all sync.WaitGroup
	for n, r := range requests {
		all.Go(func() { answers[n] = l.ask(r) })
	}
	all.Wait()
	statuses := map[int]int{}
	for _, w := range answers {
		statuses[w.Code]++
	}
	return statuses
}

// What a person may have so many of stays at that, however many are added at the same time.
func TestLimitsHoldForAddsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most, refused int
		add           func(n int) (body string)
	}{
		"channels": {notify.MostChannels, http.StatusConflict, func(n int) string {
			return fmt.Sprintf(`{"url":"ntfy://ntfy.example.org/topic-%d"}`, n)
		}},
		"tokens": {50, http.StatusUnprocessableEntity, func(n int) string {
			return fmt.Sprintf(`{"name":"script %d","scope":"read"}`, n)
		}},
		"players": {players.Most, http.StatusConflict, func(n int) string {
			return fmt.Sprintf(`{"name":"Phone %d","kind":"any"}`, n)
		}},
		"admin/invitations": {100, http.StatusUnprocessableEntity, func(n int) string {
			return fmt.Sprintf(`{"name":"Guest %d","role":"member"}`, n)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &living{t: t}
			l.wire(agreeable{})
			l.ask(l.request(http.MethodGet, "/api/v1/account", "")) // signs in
			made := 0
			for round := range c.most/30 + 1 {
				statuses := l.atOnce(func(n int) *http.Request {
					return l.request(http.MethodPost, "/api/v1/"+name, c.add(100*round+n))
				})
				made += statuses[http.StatusCreated]
				require.Equal(t, 30, statuses[http.StatusCreated]+statuses[c.refused], statuses)
			}
			require.Equal(t, c.most, made)
			w := l.ask(l.request(http.MethodGet, "/api/v1/"+name, ""))
			require.Equal(t, c.most, strings.Count(w.Body.String(), `"id":`))
		})
	}
}

// A hundredth connection to a service has no id. Those that are there stay as they are.
func TestConnectionsHaveALimitAtOnce(t *testing.T) {
	t.Parallel()
	l := newLiving(t)
	for n := 1; n <= 97; n++ {
		c := library.Connection{User: l.user, ID: library.NewConnectionID("navidrome", n), App: "navidrome",
			AccountID: fmt.Sprint("account ", n), Account: "ann", CreatedAt: time.Now(),
			Credentials: library.Credentials{"url": "http://nas.example.org"}}
		_, err := l.store.SaveConnection(t.Context(), c)
		require.NoError(t, err)
		if c.AccountID = fmt.Sprint("other ", n); n <= 30 {
			require.NoError(t, l.store.SavePending(t.Context(), c))
		}
	}
	l.ask(l.request(http.MethodGet, "/api/v1/account", "")) // signs in
	statuses := l.atOnce(func(n int) *http.Request {
		r := l.request(http.MethodPost, "/connect/"+string(library.NewConnectionID("navidrome", n+1))+"/choose",
			"account=another")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r
	})
	require.Equal(t, map[int]int{http.StatusSeeOther: 2, http.StatusConflict: 28}, statuses)
	all, err := l.store.UserConnections(t.Context(), l.user)
	require.NoError(t, err)
	accounts := map[string]bool{}
	for _, c := range all {
		accounts[c.AccountID] = true
	}
	require.Len(t, accounts, 99)
}
