package household

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"reprise/internal/datadir"
	"reprise/internal/demo"
)

// errReset is why a round ends that another one follows.
var errReset = errors.New("the demo is reset")

// Rounds are the households of a demo: when a person presses "Reset everything", the next one begins.
type Rounds struct {
	DataDir string // of the first round; empty: each has a directory of its own, which is removed after it
	// Serve serves a household with these settings until ctx ends.
	Serve func(ctx context.Context, world *demo.World, settings map[string]string) error
}

// Run serves one household after another, until ctx ends or a round fails.
func (r Rounds) Run(ctx context.Context) error {
	for n := 0; ; n++ {
		if again, err := r.round(ctx, n); err != nil || !again {
			return err
		}
	}
}

// round serves a new household until ctx ends or, with again, until a person wants everything reset.
func (r Rounds) round(ctx context.Context, n int) (again bool, err error) {
	dir, remove, err := r.folder(n)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	round, end := context.WithCancelCause(ctx)
	defer end(nil)
	world, err := demo.Start(demo.Options{Seed: 1, Live: 4 * time.Minute, Quick: 12 * time.Second,
		Plays: 4000, Days: 250, Reset: func() { end(errReset) }})
	if err != nil {
		return false, fmt.Errorf("start simulated services: %w", err)
	}
	defer world.Close()
	settings := Settings(world)
	settings["data_dir"] = dir
	err = r.Serve(round, world, settings)
	return context.Cause(round) == errReset, err
}

// folder returns the empty data directory of a round, and what removes it again. A directory that a person chose stays,
// and what a reset leaves behind in it.
func (r Rounds) folder(n int) (dir string, remove func() error, err error) {
	if r.DataDir == "" {
		return datadir.Temporary("reprise-demo-")
	}
	if dir, err = filepath.Abs(r.DataDir); err != nil {
		return "", nil, err
	}
	if n > 0 {
		dir = filepath.Join(dir, fmt.Sprintf("reset-%d", n))
	}
	if _, err := os.Stat(filepath.Join(dir, "reprise.db")); err == nil {
		return "", nil, fmt.Errorf("the demo needs an empty data directory, and %s has a database. Choose another "+
			"with -data-dir, or leave that out; or delete %[1]s if it is of an earlier demo", dir)
	}
	return dir, func() error { return nil }, nil
}
