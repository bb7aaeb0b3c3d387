package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const raw = `goos: linux
goarch: amd64
pkg: reprise/internal/x
cpu: AMD EPYC
BenchmarkFast-2         100	  2000000 ns/op	  12 B/op	  0 allocs/op
BenchmarkFast-2         100	  4000000 ns/op	  12 B/op	  0 allocs/op
BenchmarkFast-2         100	  3000000 ns/op	  12 B/op	  0 allocs/op
{"level":"INFO","msg":"not a benchmark"}
BenchmarkOurs/all-2         1	  50.0 rows/s	        0.60 of-bare
BenchmarkBare-2         1	  100 rows/s
BenchmarkOther-2         1	  7.25 µs/thing
PASS
ok  	reprise/internal/x	1.0s
`

func TestFiguresAreSetBesideTheirLimits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	missed, err := judge(strings.NewReader(raw), &out, []limit{
		{what: "fast", benchmark: "Fast", unit: "ms/op", most: 3},
		{what: "lean", benchmark: "Fast", unit: "allocs/op", most: 0},
		{what: "share", benchmark: "Ours/all", unit: "of-bare", least: 0.7},
		{what: "ratio", benchmark: "Ours/all", unit: "rows/s", per: "Bare", least: 0.5},
		{what: "gone", benchmark: "Gone", unit: "ns/op", most: 1},
	})
	require.NoError(t, err)
	require.Equal(t, 2, missed)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"3 ms/op  ≤ 3 kept", "0 allocs/op ≤ 0 kept", "0.60 of-bare ≥ 0.70 MISSED",
		"0.50 × ≥ 0.50 kept", "- ≤ 1 NOT MEASURED"} {
		require.Contains(t, strings.Join(strings.Fields(lines[i+1]), " "), strings.Join(strings.Fields(want), " "))
	}
	require.Contains(t, out.String(), "7.2 µs/thing")
}

func TestEveryLimitSaysOneThing(t *testing.T) {
	t.Parallel()
	seen := map[[3]string]bool{}
	for _, l := range limits {
		key := [3]string{l.benchmark, l.unit, l.per}
		require.False(t, seen[key], key)
		seen[key] = true
		require.False(t, l.least > 0 && l.most > 0, l.what)
	}
}
