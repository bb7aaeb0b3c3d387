// Package clocktest moves the clocks of values in memory, for tests. A test cannot set the clock of the machine that it
// runs on; but it can move what a program has noted before, which comes to the same.
package clocktest

import (
	"reflect"
	"time"
	"unsafe"
)

// Moves are what happens to the clock of a machine: the wall clock jumps, and the monotonic clock does not.
var Moves = map[string]time.Duration{"an hour forward": time.Hour, "an hour back": -time.Hour,
	"eight hours asleep": 8 * time.Hour}

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
