package sync_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/enginetest"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// withoutContact is a service that is not asked while the settings do not say who calls.
func withoutContact(*http.Request) (*http.Response, error) {
	return nil, &resilience.SettingError{Setting: "contact", Problem: words.Plain("Set contact to an e-mail address.")}
}

// TestAStopForAMissingSettingEndsWithTheRestart: a setting that is filled in takes a restart, and after it
// nobody has to
// press anything. What was to be sent meanwhile goes out then.
func TestAStopForAMissingSettingEndsWithTheRestart(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.Fail("listenbrainz", withoutContact)
		time.Sleep(10 * time.Minute)
		for i := range 3 {
			up.PlayOn("spotify", "alice", fmt.Sprint("Song ", i), time.Now().Add(time.Duration(i-5)*time.Minute))
		}
		time.Sleep(20 * time.Minute)
		require.Equal(t, syncer.NeedsAdmin, e.Status(user, "listenbrainz").Condition)
		require.Len(t, e.Open(user), 1)
		require.Equal(t, delivery.ForwardingCounts{Parked: 3}, account(t, e, user))
		e.Stop()
		e = e.Again()
		e.Carry()
		time.Sleep(10 * time.Minute)
		require.Equal(t, syncer.NeedsAdmin, e.Status(user, "listenbrainz").Condition, "it is missing still")
		require.Len(t, e.Open(user), 1, "and told of once")
		e.Stop()
		up.Fail("listenbrainz", nil)
		e = e.Again()
		e.Carry()
		time.Sleep(10 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)
		require.Empty(t, e.Open(user))
		require.Equal(t, delivery.ForwardingCounts{Sent: 3}, account(t, e, user))
	})
}

// TestAMissingSettingIsNamedToTheAdministrator: members read whose business it is.
func TestAMissingSettingIsNamedToTheAdministrator(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin int64) {
		member := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectListenBrainz(member, "bob"))
		up.Fail("listenbrainz", withoutContact)
		time.Sleep(20 * time.Minute)
		require.Empty(t, e.Open(member))
		require.Equal(t, "ListenBrainz rejects this server. A setting is missing or wrong. Only the administrator "+
			"can fix this; your own connection is fine.",
			e.Status(member, "listenbrainz").Words.Message.String())
		require.Len(t, e.Open(admin), 1)
		require.Contains(t, e.Open(admin)[0].Message.String(),
			"The setting “Contact” is missing or wrong. Set contact to an e-mail address.")
	})
}
