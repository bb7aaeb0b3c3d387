package backoff

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

func TestTheTextOfErrorsOfCallsNotMade(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 22, 9, 0, 0, 0, time.FixedZone("CET", 3600))
	require.EqualError(t, &NotBeforeError{State: State{Kind: Held, Until: until}},
		"not called before 2026-11-22T08:00:00Z")
	require.EqualError(t, &NotBeforeError{State: State{Kind: Stopped}}, "not called: stopped")
}

// TestNamesOfKinds: the words of metrics, of the log and of the database.
func TestNamesOfKinds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ready waiting held stopped", fmt.Sprint(Ready, " ", Waiting, " ", Held, " ", Stopped))
}

// TestAnItemOfTheWholeCall: a call that is about no item has a broken contract if it fails like one.
func TestAnItemOfTheWholeCall(t *testing.T) {
	t.Parallel()
	for status := 100; status <= 599; status++ {
		v := resilience.VerdictOf(&resilience.AnswerError{Endpoint: "GET /things", Status: status})
		whole := new(Permit).whole(v)
		require.Contains(t, []resilience.Class{resilience.Retriable, resilience.Fatal}, whole.Class, status)
		if v.Scope == resilience.ScopeItem {
			require.Equal(t, [3]any{resilience.Fatal, resilience.Contract, resilience.ScopeStream},
				[3]any{whole.Class, whole.Category, whole.Scope})
			continue
		}
		require.Equal(t, v, whole, "only what speaks of one item changes")
	}
	for _, v := range []resilience.Verdict{{}, {Class: resilience.Canceled},
		{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp}} {
		require.Equal(t, v, new(Permit).whole(v))
	}
}

// TestAnItemOfACallThatWentWell: the verdict on the item stays, and the call ends a trouble like any other.
func TestAnItemOfACallThatWentWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, k := New(Options{}), Key{User: 1, Connection: "lastfm", Provider: "lastfm"}
		p, _, _ := b.Acquire(k, 0)
		p.Done(resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
			Scope: resilience.ScopeConnection})
		time.Sleep(time.Until(b.State(k).Until))
		p, _, ok := b.Acquire(k, 0)
		require.True(t, ok)
		p.Terms.Items = true
		item := resilience.Verdict{Class: resilience.Fatal, Category: resilience.Contract, Scope: resilience.ScopeItem}
		ch := p.Done(item)
		require.Equal(t, item, ch.Verdict)
		require.Equal(t, [2]any{Recovered, Ready}, [2]any{ch.Kind, b.State(k).Kind})
	})
}
