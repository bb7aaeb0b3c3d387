package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/players"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/settings"
)

// Each limit is asked for by 30 requests at the same time, when five more fit.
func TestLimitsHoldForRequestsAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce, fit = 30, 5
	for name, c := range map[string]struct {
		most int
		add  func(ctx context.Context, s *Store, user int64, n int) error
		same string // the table that counts them
	}{
		"tokens": {50, func(ctx context.Context, s *Store, user int64, n int) error {
			_, err := s.AddToken(ctx, accounts.Token{User: user, Name: fmt.Sprint(n), Hash: fmt.Sprint(n),
				Scope: accounts.Read}, 50)
			return err
		}, "tokens"},
		"players": {players.Most, func(ctx context.Context, s *Store, user int64, n int) error {
			_, err := s.AddPlayer(ctx, players.Player{User: user, Name: fmt.Sprint(n), Kind: players.Any},
				players.NewSecret(), players.Most)
			return err
		}, "sending_players"},
		"channels": {notify.MostChannels, func(ctx context.Context, s *Store, user int64, n int) error {
			_, err := s.AddChannel(ctx, notify.Channel{User: user, Kind: "ntfy", URL: "ntfy://ntfy.sh/topic"})
			return err
		}, "channels"},
		"imports": {3 + fit, func(ctx context.Context, s *Store, user int64, n int) error {
			_, err := s.AddImport(ctx, imports.Import{User: user, Connection: "spotify", State: imports.Waiting}, 3+fit)
			return err
		}, "imports"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, user := setup(t)
			for n := range c.most - fit {
				require.NoError(t, c.add(t.Context(), s, user, n))
			}
			var added atomic.Int32
			var all sync.WaitGroup
			for n := range atOnce {
				all.Go(func() {
					err := c.add(t.Context(), s, user, 100+n)
					if _, refused := errors.AsType[accounts.InputError](err); err == nil {
						added.Add(1)
					} else if !refused && !errors.Is(err, imports.ErrBusy) && !errors.Is(err, notify.ErrCrowded) &&
						!errors.Is(err, players.ErrMany) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, fit, added.Load())
			require.Equal(t, c.most, number(t, s, "SELECT count(*) FROM "+c.same))
			other := addUser(t, s, "Ben", accounts.Member)
			require.NoError(t, c.add(t.Context(), s, other, 1000), "each person has their own")
		})
	}
}

func TestFirstAccountIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	var made atomic.Int32
	var all sync.WaitGroup
	for n := range 25 {
		all.Go(func() {
			_, err := s.AddUser(t.Context(), accounts.User{Name: fmt.Sprint(n), Role: accounts.Admin}, true)
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, accounts.ErrNotFirst) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, made.Load())
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM users"))
}

// Signing in once more ends the session that was not used for longest.
func TestSessionsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			token, now := fmt.Sprint(n), time.Now()
			err := errors.Join(s.Sessions().Commit(token, nil, now.Add(time.Hour)),
				s.Sessions().Use(t.Context(), token, user, accounts.Session{SignedInAt: now, UsedAt: now}, 20))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 20, number(t, s, "SELECT count(*) FROM sessions"))
}

// The newest ones stay, so that a person who has begun often can go on.
func TestStatesOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	begin := time.Now()
	save := func(n int) error {
		return s.SaveState(t.Context(), oauth.State{ID: fmt.Sprint(n), Session: "x", User: user, Connection: "spotify",
			CreatedAt: begin.Add(time.Duration(n) * time.Millisecond)})
	}
	var all sync.WaitGroup
	for n := range 25 {
		all.Go(func() {
			if err := save(n); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, connections.MostStates, number(t, s, "SELECT count(*) FROM oauth_states"))
	require.NoError(t, save(100))
	require.Equal(t, connections.MostStates, number(t, s, "SELECT count(*) FROM oauth_states"))
	_, err := s.TakeState(t.Context(), oauth.State{ID: "100", Session: "x", User: user})
	require.NoError(t, err)
	other := addUser(t, s, "Ben", accounts.Member)
	require.NoError(t, s.SaveState(t.Context(), oauth.State{ID: "ben's", User: other, CreatedAt: begin}))
	require.Equal(t, connections.MostStates, number(t, s, "SELECT count(*) FROM oauth_states"))
}

// The newest ones stay. They are no help to anybody who reads the database.
func TestAnswersOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	require.NoError(t, s.KeepAnswer(t.Context(), user+1, "of another person", []byte("theirs")))
	require.NoError(t, s.Write(t.Context(), func(tx *sql.Tx) error {
		for n := range settings.MostAnswers + 10 {
			if err := db.ExecTx(t.Context(), tx, `INSERT INTO answers (user_id, id, answer, kept_at)
				VALUES ($1, $2, '', $3)`, user, fmt.Sprint(n), n); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, s.KeepAnswer(t.Context(), user, "a key", []byte("a new token")))
	require.Equal(t, settings.MostAnswers, number(t, s, "SELECT count(*) FROM answers WHERE user_id = $1", user))
	kept, err := s.Answered(t.Context(), user, "a key")
	require.NoError(t, err)
	require.Equal(t, "a new token", string(kept))
	require.Zero(t, number(t, s, "SELECT count(*) FROM answers WHERE answer LIKE '%token%' OR id LIKE '%key%'"))
	_, err = s.Answered(t.Context(), user+1, "a key")
	require.ErrorIs(t, err, library.ErrNotFound)
}
