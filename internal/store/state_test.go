package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

func TestOnlyOneFirstAccountIsCreated(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = s.AddUser(context.Background(),
				accounts.User{Name: fmt.Sprint("user ", i), Role: accounts.Admin}, true)
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else {
			require.ErrorIs(t, err, accounts.ErrNotFirst)
		}
	}
	require.Equal(t, 1, made)
	users, err := s.Users(t.Context())
	require.NoError(t, err)
	require.Len(t, users, 1)
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Böb", accounts.Member)
	_, err := s.AddUser(t.Context(), accounts.User{Name: " BÖB ", Role: accounts.Member}, false)
	require.ErrorIs(t, err, accounts.ErrTaken)
	has, err := s.HasUsers(t.Context())
	require.NoError(t, err)
	require.True(t, has)

	want := accounts.User{ID: bob, Name: "Böb", PasswordHash: "hash of Böb", Role: accounts.Member, CreatedAt: at(0)}
	for _, name := range []string{"Böb", "böb", " BÖB "} {
		got, err := s.UserByName(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := s.UserByID(t.Context(), bob)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = s.UserByName(t.Context(), "bob")
	require.ErrorIs(t, err, accounts.ErrUnknown)
	_, err = s.UserByID(t.Context(), 999)
	require.ErrorIs(t, err, accounts.ErrUnknown)

	admins, err := s.Admins(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{alice}, admins)
	require.NoError(t, s.SetPassword(t.Context(), bob, "another hash"))
	users, err := s.Users(t.Context())
	require.NoError(t, err)
	require.Equal(t, "another hash", users[1].PasswordHash)
	require.Equal(t, "hash of Alice", users[0].PasswordHash)
}

func TestAnAuthorizationRequestIsUsedOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	want := oauth.State{ID: "id", Session: "session", User: user, Connection: "spotify", Verifier: "verifier",
		ReturnTo: "/here", CreatedAt: at(5)}
	require.NoError(t, s.SaveState(t.Context(), want))
	require.Error(t, s.SaveState(t.Context(), want), "the id is taken")
	for _, stranger := range []oauth.State{{ID: "id", Session: "theirs", User: user},
		{ID: "id", Session: "session", User: user + 1}, {Session: "session", User: user}} {
		_, err := s.TakeState(t.Context(), stranger)
		require.ErrorIs(t, err, library.ErrNotFound)
	}
	var taken, missed atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch got, err := s.TakeState(context.Background(), want); {
			case err == nil && got == want:
				taken.Add(1)
			case err == library.ErrNotFound:
				missed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int32{1, 19}, []int32{taken.Load(), missed.Load()})
}

func TestStopsAreRestored(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	first := connect(t, s, user, "spotify")
	stop := func(stream string, generation int64) backoff.Stop {
		return backoff.Stop{Key: backoff.Key{User: user, Connection: "spotify", Provider: "spotify", App: "app",
			Stream: stream}, Generation: generation,
			Category: resilience.Auth, ForAdmin: stream == "", Since: at(3)}
	}
	stops := func() []backoff.Stop {
		all, err := s.Stops(t.Context())
		require.NoError(t, err)
		return all
	}
	require.NoError(t, s.SavePosition(t.Context(), user, "spotify", library.Listens, "position", words.Text{}))
	require.NoError(t, s.SaveStop(t.Context(), stop("", first.Generation)))
	require.NoError(t, s.SaveStop(t.Context(), stop(library.Listens, first.Generation)))
	require.ElementsMatch(t, []backoff.Stop{stop("", 1), stop(library.Listens, 1)}, stops())
	require.NoError(t, s.ClearStops(t.Context(), user, "spotify"))
	require.Empty(t, stops())
	reading, err := s.Position(t.Context(), user, "spotify", library.Listens)
	require.NoError(t, err)
	require.Equal(t, "position", reading)

	second := connect(t, s, user, "spotify")
	require.NoError(t, s.SaveStop(t.Context(), stop("", first.Generation)), "no error for a late stop")
	require.Empty(t, stops(), "the stop was of the old credential")
	require.NoError(t, s.SaveStop(t.Context(), stop("", second.Generation)))
	require.Equal(t, []backoff.Stop{stop("", 2)}, stops())
	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", false))
	require.NoError(t, s.SaveStop(t.Context(), stop("", second.Generation)))
	require.Zero(t, number(t, s, "SELECT count(*) FROM streams"), "nothing is stored for a removed connection")
}

func TestHoldsAreNeverShortened(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	hold := func(user int64, stream string, category resilience.Category, until time.Duration) backoff.Hold {
		return backoff.Hold{Key: backoff.Key{User: user, Connection: "spotify", Provider: "spotify", App: "app",
			Stream: stream}, Category: category, Since: now, Until: now.Add(until)}
	}
	for _, h := range []backoff.Hold{hold(user, "", resilience.RateLimit, time.Hour),
		hold(user, "", resilience.RateLimit, time.Minute),
		hold(0, "", resilience.Quota, time.Hour), hold(0, "", resilience.Quota, 3*time.Hour),
		hold(user, library.Listens, resilience.Upstream, time.Hour),
		hold(user, library.Playlists, resilience.Upstream, -time.Second)} {
		require.NoError(t, s.SaveHold(t.Context(), h))
	}
	got, err := s.Holds(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []backoff.Hold{hold(user, "", resilience.RateLimit, time.Hour),
		hold(0, "", resilience.Quota, 3*time.Hour),
		hold(user, library.Listens, resilience.Upstream, time.Hour)}, got, "those that have not ended")
}

func TestCooldownsOfKeysAreNeverShortened(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	wait := func(provider, key string, category resilience.Category, until time.Duration) keys.Cooldown {
		return keys.Cooldown{Provider: provider, Key: key, Category: category, Until: now.Add(until)}
	}
	require.NoError(t, s.SaveCooldowns(t.Context(), []keys.Cooldown{wait("youtube", "a", resilience.Quota,
		time.Hour),
		wait("youtube", "b", resilience.Quota, time.Minute), wait("fanarttv", "a", resilience.RateLimit, time.Minute),
		wait("youtube", "c", resilience.Quota, -time.Second)}))
	require.NoError(t, s.SaveCooldowns(t.Context(), []keys.Cooldown{wait("youtube", "a", resilience.RateLimit,
		time.Minute),
		wait("youtube", "b", resilience.Quota, time.Hour)}))
	got, err := s.Cooldowns(t.Context())
	require.NoError(t, err)
	require.Equal(t, []keys.Cooldown{wait("fanarttv", "a", resilience.RateLimit, time.Minute),
		wait("youtube", "a", resilience.Quota, time.Hour),
		wait("youtube", "b", resilience.Quota, time.Hour)}, got, "those that have not ended")
}

func TestStreamsKeepTheirRecords(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	reading, err := s.Position(t.Context(), user, "spotify", library.Listens)
	require.NoError(t, err)
	require.Empty(t, reading)
	require.NoError(t, s.SaveFailure(t.Context(), user, "spotify", library.Listens, words.Plain("advice"), "detail"))
	require.NoError(t, s.SavePosition(t.Context(), user, "spotify", library.Listens, "position", words.Plain("note")))
	want := library.StreamRecord{
		Connection: "spotify",
		Stream:     library.Listens,
		Position:   "position",
		Note:       words.Plain("note"),
		Advice:     words.Plain("advice"),
		Detail:     "detail",
	}
	streams, err := s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []library.StreamRecord{want}, streams)
	require.NoError(t, s.SaveSuccess(t.Context(), user, "spotify", library.Listens, at(7)))
	want.LastSuccessAt, want.Advice, want.Detail = at(7), words.Text{}, ""
	streams, err = s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []library.StreamRecord{want}, streams)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	sessions := s.Sessions()
	require.NoError(t, sessions.Commit("token", []byte{0, 1, 255}, time.Now().Add(time.Hour)))
	require.NoError(t, sessions.Commit("other", []byte("x"), time.Now().Add(time.Hour)))
	require.NoError(t, sessions.Commit("ended", []byte("y"), time.Now().Add(-time.Second)))
	got, ok, err := sessions.Find("token")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []byte{0, 1, 255}, got)
	require.NoError(t, sessions.Commit("token", []byte("new"), time.Now().Add(time.Hour)))
	got, _, err = sessions.Find("token")
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
	for _, token := range []string{"ended", "unheard of", ""} {
		_, ok, err = sessions.Find(token)
		require.NoError(t, err)
		require.False(t, ok, token)
	}
	require.NoError(t, sessions.Delete("token"))
	require.NoError(t, sessions.Delete("token"))
	_, ok, err = sessions.Find("token")
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = sessions.Find("other")
	require.NoError(t, err)
	require.True(t, ok)
}

func TestTidyDeletesExpiredRows(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	now := time.Now()
	for i, age := range []time.Duration{-time.Minute, 48 * time.Hour} {
		name := fmt.Sprint("provider", i)
		require.NoError(t, s.Sessions().Commit(name, nil, now.Add(-age)))
		require.NoError(t, s.SaveState(t.Context(), oauth.State{ID: name, User: user, CreatedAt: now.Add(-age)}))
		c := connection(user, library.ConnectionID(name))
		c.CreatedAt = now.Add(-age)
		require.NoError(t, s.SavePending(t.Context(), c))
		require.NoError(t, s.KeepAnswer(t.Context(), user, name, []byte("an answer")))
		require.NoError(t, s.Exec(t.Context(), "UPDATE answers SET kept_at = kept_at - $1 WHERE id = $2",
			age.Milliseconds(), db.Fingerprint(name)))
		require.NoError(t, s.SaveHold(t.Context(), backoff.Hold{Key: backoff.Key{Connection: name,
			Provider: name}, Until: now.Add(-age)}))
		require.NoError(t, s.SaveCooldowns(t.Context(),
			[]keys.Cooldown{{Provider: name, Key: "a", Until: now.Add(-age)}}))
	}
	require.NoError(t, s.Tidy(t.Context()))
	for _, table := range []string{"sessions", "oauth_states", "answers", "pending_connections", "holds",
		"key_cooldowns"} {
		require.Equal(t, 1, number(t, s, "SELECT count(*) FROM "+table), table)
	}
}
