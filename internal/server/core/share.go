package core

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The bounds of what one person asks for at once. A browser asks for six things at a time.
const (
	mostAtOnce  = 8
	shareWaits  = 64               // requests of a person that wait
	shareWithin = 10 * time.Second // how long they do
)

// errShare says that a person asks for too much at once.
var errShare = errors.New("too many requests of a person at once")

// shares bounds how many requests of each person are answered at the same time, so that the answers to one person, who
// may read them slowly, need little memory. It is safe for concurrent use; its zero value has nobody in it.
type shares struct {
	mu     sync.Mutex
	people map[int64]*share
}

type share struct {
	in   int           // requests that are answered or wait
	slot chan struct{} // holds those that are answered
}

// enter waits until a request of a user may be answered. Call leave when it has been. The error is errShare, or that of
// ctx. User 0 is nobody, and has no bound.
func (s *shares) enter(ctx context.Context, user int64) (leave func(), err error) {
	if user == 0 {
		return func() {}, nil
	}
	one, err := s.join(user)
	if err != nil {
		return nil, err
	}
	select {
	case one.slot <- struct{}{}:
		return func() { <-one.slot; s.part(user) }, nil
	default:
	}
	timer := time.NewTimer(shareWithin)
	defer timer.Stop()
	select {
	case one.slot <- struct{}{}:
		return func() { <-one.slot; s.part(user) }, nil
	case <-timer.C:
		err = errShare
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.part(user)
	return nil, err
}

func (s *shares) join(user int64) (*share, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people == nil {
		s.people = map[int64]*share{}
	}
	one := s.people[user]
	if one == nil {
		one = &share{slot: make(chan struct{}, mostAtOnce)}
		s.people[user] = one
	}
	if one.in >= mostAtOnce+shareWaits {
		return nil, errShare
	}
	one.in++
	return one, nil
}

func (s *shares) part(user int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.people[user]; one != nil {
		if one.in--; one.in == 0 {
			delete(s.people, user)
		}
	}
}
