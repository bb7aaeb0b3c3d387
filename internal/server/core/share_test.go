package core

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneCannotTakeEveryAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shares
		var leave []func()
		for range mostAtOnce {
			done, err := s.enter(t.Context(), 1)
			require.NoError(t, err)
			leave = append(leave, done)
		}
		began := time.Now()
		_, err := s.enter(t.Context(), 1)
		require.ErrorIs(t, err, errShare)
		require.Equal(t, shareWithin, time.Since(began))
		other, err := s.enter(t.Context(), 2)
		require.NoError(t, err, "another person")
		other()

		given := make(chan error)
		for range shareWaits {
			go func() {
				done, err := s.enter(t.Context(), 1)
				if err == nil {
					done()
				}
				given <- err
			}()
		}
		synctest.Wait()
		_, err = s.enter(t.Context(), 1)
		require.ErrorIs(t, err, errShare, "at once, when so many wait")
		for _, done := range leave {
			done()
		}
		for range shareWaits {
			require.NoError(t, <-given)
		}
		require.Empty(t, s.people)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.enter(ctx, 1)
		require.NoError(t, err, "there is room")
	})
}
