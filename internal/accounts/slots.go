package accounts

import (
	"context"
	"time"
)

const (
	strangersWaiting = 8 // for a slot
	strangersPatient = 3 * time.Second
)

// slots bounds how many passwords are hashed at once.
type slots struct {
	all       chan struct{} // hashing
	strangers chan struct{} // strangers who hash
	queue     chan struct{} // strangers who hash or wait for it
}

// newSlots returns n slots. Strangers may use half of them, or the only one.
func newSlots(n int) *slots {
	strangers := max(1, n/2)
	return &slots{all: make(chan struct{}, n), strangers: make(chan struct{}, strangers),
		queue: make(chan struct{}, strangers+strangersWaiting)}
}

// take waits for a slot. The caller calls release.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s.all <- struct{}{}:
		return func() { <-s.all }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// takeStranger waits for one of the slots that strangers may use. It returns ErrBusy when the queue is full, or when it
// has waited for three seconds.
func (s *slots) takeStranger(ctx context.Context) (release func(), err error) {
	select {
	case s.queue <- struct{}{}:
	default:
		return nil, ErrBusy
	}
	patience := time.NewTimer(strangersPatient)
	defer patience.Stop()
	select {
	case s.strangers <- struct{}{}:
	case <-patience.C:
		<-s.queue
		return nil, ErrBusy
	case <-ctx.Done():
		<-s.queue
		return nil, ctx.Err()
	}
	done, err := s.take(ctx)
	leave := func() { <-s.strangers; <-s.queue }
	if err != nil {
		leave()
		return nil, err
	}
	return func() { done(); leave() }, nil
}
