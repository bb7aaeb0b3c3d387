package upkeep

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// How the garbage collector's soft limit, above which it works harder, is derived where GOMEMLIMIT does not give it.
const (
	// beside is what the process needs at least beside Go's memory: SQLite's caches, its stacks in the kernel, the
	// buffers of its sockets, a few pages of the program, and by how much Go's memory exceeds its limit while a busy
	// processor lets the garbage collector fall behind: with 32 MiB, one run in three was killed then.
	beside = 48 << 20
	// softShare is the share of a large limit that is Go's.
	softShare = 0.85
	// ampleMemory is the limit from which several passwords may be hashed at once.
	ampleMemory = 256 << 20
	// hashesAtOnce is how many passwords are hashed at once where there is ample memory, at 19 MiB each.
	hashesAtOnce = 4
)

// LimitMemory sets the garbage collector's soft limit, unless GOMEMLIMIT has: below the memory limit of the cgroup, as
// of a container, and without one at half of the machine's memory, which it shares with others.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit(memlimit.FromCgroup, memlimit.FromSystem))
	}
}

// startedAfter is when everything that only a start needs has been used: migrations, settings, templates, the first
// reading of what is stored.
const startedAfter = 20 * time.Second

// ReleaseMemory waits until the start is over, and gives back the memory that only the start has used; it returns early
// when ctx ends. The garbage collector would give back its part by itself, but on an idle server not for hours, and the
// program's pages stay until another process needs room.
func ReleaseMemory(ctx context.Context, log *slog.Logger) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(startedAfter):
	}
	debug.FreeOSMemory()
	if err := releaseProgram(); err != nil {
		log.Debug("the program's pages stay in memory", "err", err)
	}
	return nil
}

// softLimit returns the soft limit in bytes, math.MaxInt64 where nothing is known.
func softLimit(cgroup, machine memlimit.Provider) int64 {
	whole, err := machine()
	if err != nil || whole == 0 {
		whole = math.MaxInt64
	}
	limit, err := cgroup()
	if err == nil && limit < whole {
		return int64(softBelow(limit))
	}
	if whole == math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(whole / 2)
}

// softBelow returns the soft limit below a hard one, at least half of it.
func softBelow(limit uint64) uint64 {
	spared := max(uint64(beside), uint64(float64(limit)*(1-softShare)))
	return max(limit/2, limit-min(spared, limit))
}

// HashesAtOnce returns how many passwords may be hashed at once within the soft limit: one, unless there is ample
// memory.
func HashesAtOnce() int { return hashesIn(debug.SetMemoryLimit(-1)) }

func hashesIn(soft int64) int {
	if soft < int64(softBelow(ampleMemory)) {
		return 1
	}
	return hashesAtOnce
}
