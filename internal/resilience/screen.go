package resilience

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// ScreenedError stands for every failure of a server that a person has named, as long as the server has not answered in
// its protocol. It says nothing about what is at the address: otherwise a person could learn by it which ports are open
// in the server's own network.
type ScreenedError struct{}

func (*ScreenedError) Error() string { return "no answer that can be used" }

// Screen decides which failures a person may read. A nil Screen hides nothing. It is safe for concurrent use.
type Screen struct {
	// Trusts reports whether a user may know everything about a host, which may have a port.
	Trusts func(ctx context.Context, user int64, host string) bool
	Log    *slog.Logger // of what is hidden
}

// Hide returns what a user may read of the failure of a server that they have named: err itself if they may know about
// its host, or if it answered in its protocol; else an error that is the same for all others. host may be empty when
// nobody has named one.
func (s *Screen) Hide(ctx context.Context, user int64, host string, err error) error {
	if !s.hides(ctx, user, host, err) {
		return err
	}
	if e, ok := errors.AsType[*NotBeforeError](err); ok { // that a breaker is open tells how it failed
		same := *e
		same.State.Category = Network
		return &same
	}
	return &ScreenedError{}
}

// hides reports whether an error is hidden, and then logs it.
func (s *Screen) hides(ctx context.Context, user int64, host string, err error) bool {
	if s == nil || err == nil || host == "" || user == 0 || !tells(err) ||
		s.Trusts(context.WithoutCancel(ctx), user, host) {
		return false
	}
	s.Log.Info("a member's server gave no usable answer", "user_id", user, "provider", callOf(ctx).provider, "err",
		Excerpt(err.Error()))
	return true
}

// HideNow is Hide for an attempt that began at a time and for which the person waits: what is hidden takes as long as a
// connection that nobody accepts.
func (s *Screen) HideNow(ctx context.Context, user int64, host string, began time.Time, err error) error {
	if !s.hides(ctx, user, host, err) {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(began.Add(ConnectTimeout))):
	}
	return &ScreenedError{}
}

// tells reports whether an error says something about what is at an address, without being an answer in the protocol of
// the service.
func tells(err error) bool {
	if e, ok := errors.AsType[*NotBeforeError](err); ok {
		return e.State.Category == CircuitOpen && !e.Offline && !e.Busy
	}
	if e, ok := errors.AsType[*AnswerError](err); ok {
		ours := e.Meaning != nil && e.Meaning.Category == Contract // and so the code may be
		spoken := e.Message != "" || e.Code != "" && !ours
		moved := e.Status >= http.StatusMultipleChoices && e.Status < http.StatusBadRequest
		return e.HTML || e.unread || moved || !spoken
	}
	if _, ok := errors.AsType[*NetworkError](err); ok {
		return true
	}
	_, ok := errors.AsType[*ContractError](err)
	return ok || errors.Is(err, context.DeadlineExceeded)
}

// IsProbe reports whether a person waits for the calls of a context.
func IsProbe(ctx context.Context) bool { return ctx.Value(probeKey{}) != nil }

// UserOf returns the user for whom the calls of a context are made; 0 for nobody.
func UserOf(ctx context.Context) int64 { return callOf(ctx).user }
