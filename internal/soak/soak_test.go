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

func TestEverythingIsShownOfWithinSomeRuns(t *testing.T) {
	shown := map[int]bool{}
	for run := range 30 {
		t.Setenv(env, fmt.Sprint(run))
		some := 0
		for thing := range 100 {
			if Part(t, fmt.Sprint(thing)) {
				shown[thing] = true
				some++
			}
		}
		require.Less(t, some, 60)
	}
	require.Len(t, shown, 100)
	t.Setenv(env, "")
	require.False(t, Part(t, "1") && Part(t, "2") && Part(t, "3") && Part(t, "4") && Part(t, "5"))
	t.Setenv(env, "all")
	for thing := range 100 {
		require.True(t, Part(t, fmt.Sprint(thing)))
	}
}

func TestASeedRepeatsItsNumbers(t *testing.T) {
	t.Setenv(env, "17")
	first := Rand(t).Uint64()
	require.Equal(t, first, Rand(t).Uint64())
	t.Setenv(env, "18")
	require.NotEqual(t, first, Rand(t).Uint64())
}
