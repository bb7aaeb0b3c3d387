package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"reprise/internal/store"
	"reprise/internal/store/servers"
)

// Hear calls changed each time that a command has changed who may sign in while this server runs, until ctx ends. It
// asks neither the disk nor the database meanwhile: Postgres notifies its servers, and beside SQLite the command
// touches the lock, which the system watches. The server holds the lock.
func (d Dir) Hear(ctx context.Context, changed func()) error {
	if d.DatabaseURL != "" {
		return servers.Hear(ctx, d.Place(), changed)
	}
	path := filepath.Join(d.Path, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // not every system has locks
	if err != nil {
		return plain(err)
	}
	_ = f.Close()
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(path); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			changed()
		case err := <-watcher.Errors:
			return err
		}
	}
}

// tell has the server that runs, if there is one, call what it gave to Hear.
func (d Dir) tell(ctx context.Context, db *store.Store) error {
	if d.DatabaseURL != "" {
		return d.explain(db.Tell(ctx))
	}
	now := time.Now()
	err := os.Chtimes(filepath.Join(d.Path, lockFile), now, now)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // no server has ever run
		return nil
	}
	return fmt.Errorf("the data directory %s can't be written to: %w", d.Path, plain(err))
}
