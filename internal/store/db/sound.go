package db

import (
	"context"
	"time"
)

// checkWithin is how long Open waits for the check of a large database with Options.CheckBeside: long enough for those
// with up to some ten thousand listens, so that damage to them is found before anything is written.
const checkWithin = 25 * time.Millisecond

// soundness is the check of the whole database, which reads it once.
type soundness struct {
	done chan struct{}
	err  error // what it has found; set before done is closed
}

// begin begins to check the database, and waits for the end of that, or for a moment with Options.CheckBeside.
func (s *DB) begin(ctx context.Context) error {
	c := &soundness{done: make(chan struct{})}
	check, cancel := context.WithCancel(ctx)
	s.check, s.uncheck = c, cancel
	go func() {
		defer close(c.done)
		c.err = s.Intact(check, s.Reader)
	}()
	if !s.checkBeside {
		return s.Sound(ctx)
	}
	soon, stop := context.WithTimeout(ctx, checkWithin)
	defer stop()
	return s.Sound(soon)
}

// Sound waits for the end of the check that Open has begun, or of ctx. It returns an error if the database is damaged.
func (s *DB) Sound(ctx context.Context) error {
	if s.check == nil {
		return nil
	}
	select {
	case <-s.check.done:
		return s.check.err
	case <-ctx.Done():
		return nil
	}
}

// Blame returns the error of the check if there is one, because damage may be behind an error of anything else.
func (s *DB) Blame(ctx context.Context, err error) error {
	if err != nil {
		if damage := s.Sound(ctx); damage != nil {
			return damage
		}
	}
	return err
}
