package throttle_test

import (
	"testing"

	"reprise/internal/throttle"
	"reprise/internal/throttle/throttletest"
)

func TestMemoryCountsTries(t *testing.T) {
	t.Parallel()
	var m throttle.Memory
	throttletest.CountsAlike(t, &m, &m)
}
