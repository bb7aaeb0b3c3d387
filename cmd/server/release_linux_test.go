package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// residentOfFiles returns how much of the program's and other files is in the memory of the process, in KiB.
func residentOfFiles(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	n, err := strconv.Atoi(string(regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(b)[1]))
	require.NoError(t, err)
	return n
}

// What only a start needs leaves the memory, and the program goes on.
func TestTheProgramsPagesAreGivenBack(t *testing.T) {
	before := residentOfFiles(t)
	require.NoError(t, releaseProgram())
	after := residentOfFiles(t)
	require.Less(t, after, before*3/4, "of %d KiB", before)
	require.Error(t, run(t.Context(), []string{"-no-such-flag"}, nil, console{}))
}
