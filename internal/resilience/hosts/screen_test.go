package hosts_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
)

// hidden are failures that tell what is at an address.
func hidden() map[string]error {
	return map[string]error{
		"closed":    &resilience.NetworkError{Endpoint: "GET /", Err: errors.New("connection refused")},
		"silent":    context.DeadlineExceeded,
		"not HTTP":  &resilience.NetworkError{Endpoint: "GET /", Err: errors.New("malformed HTTP response")},
		"not found": &resilience.AnswerError{Endpoint: "GET /", Status: 404},
		"a page":    &resilience.AnswerError{Endpoint: "GET /", Status: 401, HTML: true, Message: "Router"},
		"elsewhere": &resilience.AnswerError{Endpoint: "GET /", Status: 301, Message: "redirects to another address"},
		"nonsense":  &resilience.ContractError{Endpoint: "GET /", What: "no JSON"},
		"advised": resilience.Advised(&resilience.ContractError{Endpoint: "GET /", What: "no JSON"},
			said("This is no server.")),
		"our code": &resilience.AnswerError{Endpoint: "GET /", Status: 404, Code: "no_such_route",
			Meaning: &resilience.Meaning{Category: resilience.Contract, Advice: said("There is no server.")}},
		"broken": resilience.Advised(&resilience.AnswerError{Endpoint: "GET /", Status: 502},
			said("This is no server.")),
	}
}

func TestOneErrorForEveryForeignPort(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &hosts.Screen{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Trusts: func(_ context.Context, user int64, host string) bool { return user == 1 || host == "music.lan" }}
	ctx := t.Context()
	member, admin := resilience.Call{User: 2, Provider: "navidrome"}, resilience.Call{User: 1, Provider: "navidrome"}
	for name, err := range hidden() {
		failed := errors.Join(err)
		shown := s.Hide(ctx, member, "10.0.0.1:22", failed)
		require.Equal(t, &hosts.ScreenedError{}, shown, name)
		require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
			Scope: resilience.ScopeConnection}, resilience.VerdictOf(shown))
		require.Contains(t, log.String(), resilience.Excerpt(err.Error()), "the log has it all")
		require.Equal(t, failed, s.Hide(ctx, admin, "10.0.0.1:22", failed), "an administrator reads the reason")
		require.Equal(t, failed, s.Hide(ctx, member, "music.lan", failed), "and so do others about an allowed host")
		require.Equal(t, failed, s.Hide(ctx, member, "", failed), "nobody has named that host")
		require.Equal(t, failed, (*hosts.Screen)(nil).Hide(ctx, member, "10.0.0.1:22", failed))
	}
	for _, err := range []error{&resilience.AnswerError{Status: 200, Code: "40", Message: "Wrong username or password"},
		&resilience.SettingError{Problem: said("not an address")}, &resilience.LocalError{Err: io.ErrShortWrite},
		context.Canceled, &backoff.NotBeforeError{Offline: true}, nil} {
		require.Equal(t, err, s.Hide(ctx, member, "10.0.0.1:22", err), "it tells nothing about a port")
	}
	open := &backoff.NotBeforeError{Endpoint: "GET /", State: backoff.State{Category: resilience.CircuitOpen,
		Until: time.Unix(1, 0)}}
	shown := s.Hide(ctx, member, "10.0.0.1:22", open)
	require.Equal(t, resilience.Network, resilience.VerdictOf(shown).Category)
	require.Equal(t, time.Unix(1, 0), resilience.VerdictOf(shown).NotBefore)
	require.Equal(t, resilience.CircuitOpen, open.State.Category, "others hold the same error")
}

// A port that is closed, one that answers with nonsense, and one that takes a connection and then is silent.
func TestHiddenFailuresTakeTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hosts.Screen{Log: slog.New(slog.DiscardHandler),
			Trusts: func(_ context.Context, user int64, _ string) bool { return user == 1 }}
		for name, err := range hidden() {
			for _, spent := range []time.Duration{0, time.Second, hosts.ConnectTimeout, resilience.CallTimeout} {
				call := func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return errors.New("an adapter says that the time is over")
					case <-time.After(spent):
						return err
					}
				}
				began := time.Now()
				require.Equal(t, &hosts.ScreenedError{}, s.Try(t.Context(), resilience.Call{User: 2}, "10.0.0.1:22",
					call))
				require.Equal(t, 10*time.Second, time.Since(began), "%s, after %v", name, spent)
				began = time.Now()
				require.Equal(t, err, s.Try(t.Context(), resilience.Call{User: 1}, "10.0.0.1:22", call))
				require.Equal(t, spent, time.Since(began))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		require.Error(t, s.Try(ctx, resilience.Call{User: 2}, "10.0.0.1:22",
			func(ctx context.Context) error { return ctx.Err() }))
		require.Zero(t, time.Since(began), "who goes away is not waited for")
	})
}

// said is a Cause that is its own name.
type said string

func (s said) String() string { return string(s) }
