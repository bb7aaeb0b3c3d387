// Package clocktest moves the clocks of values in memory, for tests. A test cannot set the clock of the machine that it
// runs on; but it can move what a program has noted before, which comes to the same.
package clocktest

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Moves are what happens to the clock of a machine: the wall clock jumps, and the monotonic clock does not.
var Moves = map[string]time.Duration{"an hour forward": time.Hour, "an hour back": -time.Hour,
	"eight hours asleep": 8 * time.Hour}

// Each runs a story for each of Moves: move does it to what the story has in memory.
func Each(t *testing.T, story func(t *testing.T, move func(v any))) {
	t.Parallel()
	for name, d := range Moves {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, func(v any) { Set(v, d) })
		})
	}
}

// RequireIn requires that an instant is that far ahead, by the clock that people see, give or take half a minute.
func RequireIn(t *testing.T, want time.Duration, at time.Time) {
	t.Helper()
	require.InDelta(t, want, at.Round(0).Sub(time.Now().Round(0)), float64(30*time.Second))
}

// Set makes all times that v points to look as if the system clock had been set by d, in whole seconds, since they were
// noted. A suspended machine does the same: its monotonic clock stands still.
func Set(v any, d time.Duration) {
	each(reflect.ValueOf(v), map[uintptr]bool{}, func(t *time.Time) {
		const monotonic = 1 << 63 // see the fields of time.Time
		if wall := (*uint64)(unsafe.Pointer(t)); *wall&monotonic != 0 {
			*wall -= uint64(d/time.Second) << 30
		} else {
			*t = t.Add(-d)
		}
	})
}

// Pass makes all times that v points to look as if d had passed since they were noted.
func Pass(v any, d time.Duration) {
	each(reflect.ValueOf(v), map[uintptr]bool{}, func(t *time.Time) { *t = t.Add(-d) })
}

// each calls do for every time that v leads to, unless it is zero.
func each(v reflect.Value, seen map[uintptr]bool, do func(*time.Time)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.Pointer()] {
			seen[v.Pointer()] = true
			each(v.Elem(), seen, do)
		}
	case reflect.Interface:
		each(v.Elem(), seen, do)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if t := (*time.Time)(unsafe.Pointer(v.UnsafeAddr())); !t.IsZero() {
				do(t)
			}
			return
		}
		for _, field := range v.Fields() {
			each(field, seen, do)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			each(v.Index(i), seen, do)
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			each(value, seen, do)
		}
	}
}
