// Package soak sizes the endurance tests: those that repeat something until a rare failure would show.
//
// By default they are short. The environment variable SOAK makes them long: all of them with "all", and with a
// number those that the number picks, about a third. The number also seeds what they do at random, so that a failure
// can be repeated.
package soak

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

const env = "SOAK"

// oneOf is how many tests there are for each one that a seed picks.
const oneOf = 3

// Count returns how often a test repeats what it does: full times when it is to be long, else short times.
func Count(t testing.TB, full, short int) int {
	t.Helper()
	n := short
	if long(t.Name()) {
		n = full
	}
	t.Logf("%d times; %s=%q", n, env, os.Getenv(env))
	return n
}

// Sometimes skips a test that shows at length what other tests show in short, unless it is to be long.
func Sometimes(t testing.TB) {
	t.Helper()
	if !long(t.Name()) {
		t.Skip("a third of these runs with a number in SOAK, and all of them with SOAK=all")
	}
}

// Full reports whether a test does everything that it can, rather than a part that shows the same in a few seconds.
func Full(t testing.TB) bool {
	t.Helper()
	full := long(t.Name())
	t.Logf("in full: %t; %s=%q", full, env, os.Getenv(env))
	return full
}

// Part reports whether a test that shows the same of many things shows it of this one. Of all of them only with
// SOAK=all; else of about a third, which the number picks, so that runs with other numbers show it of the others.
func Part(t testing.TB, thing string) bool {
	t.Helper()
	return All() || picked(os.Getenv(env), t.Name()+" "+thing)
}

// All reports whether all tests run at full length. It is for those that take minutes, which no seed picks.
func All() bool { return os.Getenv(env) == "all" }

func long(test string) bool {
	switch value := os.Getenv(env); value {
	case "":
		return false
	case "all":
		return true
	default:
		return picked(value, test)
	}
}

func picked(value, what string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(value + what)) // a hash never fails
	return h.Sum64()%oneOf == 0
}

// Rand returns a source of random numbers, the same ones for the same seed and test.
func Rand(t testing.TB) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv(env), 10, 64)
	if err != nil {
		seed = 1
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name())) // a hash never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
