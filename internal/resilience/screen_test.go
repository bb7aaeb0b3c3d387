package resilience

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
)

// hidden are failures that tell what is at an address.
func hidden() map[string]error {
	return map[string]error{
		"closed":    &NetworkError{Endpoint: "GET /", Err: errors.New("connection refused")},
		"silent":    context.DeadlineExceeded,
		"not HTTP":  &NetworkError{Endpoint: "GET /", Err: errors.New("malformed HTTP response")},
		"not found": &AnswerError{Endpoint: "GET /", Status: 404},
		"a page":    &AnswerError{Endpoint: "GET /", Status: 401, HTML: true, Message: "Router"},
		"elsewhere": &AnswerError{Endpoint: "GET /", Status: 301, Message: "redirects to another address"},
		"nonsense":  &ContractError{Endpoint: "GET /", What: "no JSON"},
		"advised":   Advised(&ContractError{Endpoint: "GET /", What: "no JSON"}, said("This is no server.")),
		"our code": &AnswerError{Endpoint: "GET /", Status: 404, Code: "no_such_route",
			Meaning: &Meaning{Category: Contract, Advice: said("There is no server.")}},
		"broken": Advised(&AnswerError{Endpoint: "GET /", Status: 502}, said("This is no server.")),
	}
}

func TestOneErrorForEveryForeignPort(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Screen{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Trusts: func(_ context.Context, user int64, host string) bool { return user == 1 || host == "music.lan" }}
	ctx := t.Context()
	member, admin := Call{User: 2, Provider: "navidrome"}, Call{User: 1, Provider: "navidrome"}
	for name, err := range hidden() {
		failed := errors.Join(err)
		shown := s.Hide(ctx, member, "10.0.0.1:22", failed)
		require.Equal(t, &ScreenedError{}, shown, name)
		require.Equal(t, Verdict{Class: Retriable, Category: Network, Scope: ScopeConnection}, VerdictOf(shown))
		require.Contains(t, log.String(), Excerpt(err.Error()), "the log has it all")
		require.Equal(t, failed, s.Hide(ctx, admin, "10.0.0.1:22", failed), "an administrator reads the reason")
		require.Equal(t, failed, s.Hide(ctx, member, "music.lan", failed), "and so do others about an allowed host")
		require.Equal(t, failed, s.Hide(ctx, member, "", failed), "nobody has named that host")
		require.Equal(t, failed, (*Screen)(nil).Hide(ctx, member, "10.0.0.1:22", failed))
	}
	for _, err := range []error{&AnswerError{Status: 200, Code: "40", Message: "Wrong username or password"},
		&SettingError{Problem: said("not an address")}, &LocalError{Err: io.ErrShortWrite},
		context.Canceled, &NotBeforeError{Offline: true}, nil} {
		require.Equal(t, err, s.Hide(ctx, member, "10.0.0.1:22", err), "it tells nothing about a port")
	}
	open := &NotBeforeError{Endpoint: "GET /", State: State{Category: CircuitOpen, Until: time.Unix(1, 0)}}
	shown := s.Hide(ctx, member, "10.0.0.1:22", open)
	require.Equal(t, Network, VerdictOf(shown).Category)
	require.Equal(t, time.Unix(1, 0), VerdictOf(shown).NotBefore)
	require.Equal(t, CircuitOpen, open.State.Category, "others hold the same error")
}

// A port that is closed, one that answers with nonsense, and one that takes a connection and then is silent.
func TestHiddenFailuresTakeTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Screen{Log: slog.New(slog.DiscardHandler),
			Trusts: func(_ context.Context, user int64, _ string) bool { return user == 1 }}
		for name, err := range hidden() {
			for _, spent := range []time.Duration{0, time.Second, ConnectTimeout, CallTimeout} {
				call := func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return errors.New("an adapter says that the time is over")
					case <-time.After(spent):
						return err
					}
				}
				began := time.Now()
				require.Equal(t, &ScreenedError{}, s.Try(t.Context(), Call{User: 2}, "10.0.0.1:22", call))
				require.Equal(t, probeTime, time.Since(began), "%s, after %v", name, spent)
				began = time.Now()
				require.Equal(t, err, s.Try(t.Context(), Call{User: 1}, "10.0.0.1:22", call))
				require.Equal(t, spent, time.Since(began))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		require.Error(t, s.Try(ctx, Call{User: 2}, "10.0.0.1:22", func(ctx context.Context) error { return ctx.Err() }))
		require.Zero(t, time.Since(began), "who goes away is not waited for")
	})
}
