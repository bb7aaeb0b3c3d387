package hosts

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// ScreenedError replaces every failure of a server that a person has named, as long as the server has not answered in
// its protocol. It says nothing about what is at the address: otherwise a person could learn by it which ports are open
// in the server's own network.
type ScreenedError struct{}

func (*ScreenedError) Error() string { return "no answer that can be used" }

// Verdict is that of a server that cannot be reached.
func (*ScreenedError) Verdict() resilience.Verdict {
	return resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
		Scope: resilience.ScopeConnection}
}

// Screen decides which failures a person may read. A nil Screen hides nothing. It is safe for concurrent use.
type Screen struct {
	// Trusts reports whether a user may know everything about a host, which may have a port.
	Trusts func(ctx context.Context, user int64, host string) bool
	Log    *slog.Logger // of what is hidden
}

// Hide returns what the user of a call may read of the failure of a server that they have named: err itself if they may
// know about its host, or if it answered in its protocol; else an error that is the same for all others. host may be
// empty when nobody has named one.
func (s *Screen) Hide(ctx context.Context, c resilience.Call, host string, err error) error {
	if !s.hides(ctx, c, host, err) {
		return err
	}
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok { // that a breaker is open tells how it failed
		same := *e
		same.State.Category = resilience.Network
		return &same
	}
	return &ScreenedError{}
}

// hides reports whether an error is hidden, and then logs it.
func (s *Screen) hides(ctx context.Context, c resilience.Call, host string, err error) bool {
	if err == nil || !tells(err) || !s.covers(ctx, c.User, host) {
		return false
	}
	s.note(c, err)
	return true
}

// covers reports whether a user may not know everything about a host.
func (s *Screen) covers(ctx context.Context, user int64, host string) bool {
	return s != nil && host != "" && user != 0 && !s.Trusts(context.WithoutCancel(ctx), user, host)
}

func (s *Screen) note(c resilience.Call, err error) {
	s.Log.Info("a member's server sent no usable answer", "user_id", c.User, "provider", c.Provider, "err",
		resilience.Excerpt(err.Error()))
}

// probeTime is how long a person waits for a server that they have named and may not know everything about: at most if
// it answers, and exactly if that is hidden. It is longer than [ConnectTimeout], so that a port that takes connections
// and is silent looks like one that does not exist.
const probeTime = 10 * time.Second

// Try makes a call for whose outcome its user waits, and returns its error as Hide does. What is hidden always takes
// the same time.
func (s *Screen) Try(ctx context.Context, c resilience.Call, host string, call func(context.Context) error) error {
	if !s.covers(ctx, c.User, host) {
		return call(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	err := call(bounded)
	late := bounded.Err() != nil
	if err == nil || !tells(err) && !late {
		return err
	}
	s.note(c, err)
	<-bounded.Done()
	return &ScreenedError{}
}

// tells reports whether an error says something about what is at an address, without being an answer in the protocol of
// the service.
func tells(err error) bool {
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		return e.State.Category == resilience.CircuitOpen && !e.Offline && !e.Busy
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		ours := e.Meaning != nil && e.Meaning.Category == resilience.Contract // and so the code may be
		spoken := e.Message != "" || e.Code != "" && !ours
		moved := e.Status >= http.StatusMultipleChoices && e.Status < http.StatusBadRequest
		return e.HTML || e.Unread || moved || !spoken
	}
	if _, ok := errors.AsType[*resilience.NetworkError](err); ok {
		return true
	}
	_, ok := errors.AsType[*resilience.ContractError](err)
	return ok || errors.Is(err, context.DeadlineExceeded)
}
