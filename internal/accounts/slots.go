package accounts

import (
	"context"
	"time"
)

const (
	hashesAtOnce     = 4 // which bounds the memory of hashing to about 80 MiB
	strangersAtOnce  = 2 // of those
	strangersWaiting = 8 // for one of those
	strangersPatient = 3 * time.Second
)

// slots bounds how many passwords are hashed at once.
type slots struct {
	all       chan struct{} // hashing
	strangers chan struct{} // strangers who hash
	queue     chan struct{} // strangers who hash or wait for it
}

func newSlots() *slots {
	return &slots{all: make(chan struct{}, hashesAtOnce), strangers: make(chan struct{}, strangersAtOnce),
		queue: make(chan struct{}, strangersAtOnce+strangersWaiting)}
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
