package soak

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASeedPicksSomeTests(t *testing.T) {
	for value, least := range map[string]int{"": 0, "all": 300, "17": 60} {
		t.Setenv(env, value)
		picked := 0
		for n := range 300 {
			if long(fmt.Sprintf("Test%d", n)) {
				picked++
			}
		}
		require.GreaterOrEqual(t, picked, least, value)
		if value != "all" {
			require.LessOrEqual(t, picked, 2*least, value)
		}
	}
}

func TestASeedRepeatsItsNumbers(t *testing.T) {
	t.Setenv(env, "17")
	first := Rand(t).Uint64()
	require.Equal(t, first, Rand(t).Uint64())
	t.Setenv(env, "18")
	require.NotEqual(t, first, Rand(t).Uint64())
}
