package upkeep

import (
	"os"
	"regexp"
	"strconv"
	"syscall"
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

// readProgram maps the program's file once more and reads each of its pages, so that most of what is resident is the
// program: this one is small.
func readProgram(t *testing.T) {
	t.Helper()
	name, err := os.Executable()
	require.NoError(t, err)
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	pages, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(pages)) })
	sum := 0
	for i := 0; i < len(pages); i += os.Getpagesize() {
		sum += int(pages[i])
	}
	require.Positive(t, sum)
}

// What only a start needs leaves the memory, and the program goes on.
func TestTheProgramsPagesAreGivenBack(t *testing.T) {
	readProgram(t)
	before := residentOfFiles(t)
	require.NoError(t, releaseProgram())
	after := residentOfFiles(t)
	require.Less(t, after, before*3/4, "of %d KiB", before)
	require.InDelta(t, 24<<20, softBelow(48<<20), 1, "code that was given back is read again")
}
