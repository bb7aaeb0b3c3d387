package upkeep

import (
	"math"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"
)

func TestTheSoftLimitFollowsTheHardOne(t *testing.T) {
	t.Parallel()
	none := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	const mib = 1 << 20
	for name, c := range map[string]struct {
		cgroup, machine memlimit.Provider
		soft            int64
		hashes          int
	}{
		"tiny container":          {memlimit.Limit(48 * mib), memlimit.Limit(8192 * mib), 24 * mib, 1},
		"small container":         {memlimit.Limit(128 * mib), memlimit.Limit(8192 * mib), 80 * mib, 1},
		"just below ample":        {memlimit.Limit(255 * mib), memlimit.Limit(8192 * mib), 207 * mib, 1},
		"ample container":         {memlimit.Limit(256 * mib), memlimit.Limit(8192 * mib), 208 * mib, 4},
		"large container":         {memlimit.Limit(2000 * mib), memlimit.Limit(8192 * mib), 1700 * mib, 4},
		"more than there is":      {memlimit.Limit(1 << 62), memlimit.Limit(1024 * mib), 512 * mib, 4},
		"no container":            {none, memlimit.Limit(1024 * mib), 512 * mib, 4},
		"small machine":           {none, memlimit.Limit(256 * mib), 128 * mib, 1},
		"nothing known":           {none, none, math.MaxInt64, 4},
		"only the container":      {memlimit.Limit(128 * mib), none, 80 * mib, 1},
		"unlimited in the cgroup": {memlimit.Limit(math.MaxUint64), none, math.MaxInt64, 4},
	} {
		soft := softLimit(c.cgroup, c.machine)
		require.InDelta(t, c.soft, soft, mib, name)
		require.Equal(t, c.hashes, hashesIn(soft), name)
	}
}
