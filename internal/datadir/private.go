package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reprise/internal/store/db"
)

// Protect takes the data directory, and the keys and databases in it, away from the other users of the machine: mode
// 700 and 600. It leaves alone a directory that others share or that belongs to another user. The error says what other
// users may still open; the server can run all the same.
func (d Dir) Protect() error {
	var all []error
	switch info, err := os.Stat(d.Path); {
	case err != nil || info.Mode().Perm()&0o077 == 0:
	case isShared(d.Path) || info.Mode()&(os.ModeSticky|os.ModeSetgid) != 0:
		all = append(all, fmt.Errorf("the data directory %s is shared with other users of this machine. "+
			"Give Reprise a directory of its own with data_dir", d.Path))
	case !ours(info):
		all = append(all, fmt.Errorf("the data directory %s belongs to another user and is open to others. "+
			"Give it to the user that runs the server, or close it: chmod 700 %s", d.Path, d.Path))
	default:
		all = append(all, restrict(d.Path, 0o700))
	}
	for _, path := range d.PrivateFiles() {
		// A link leads to a file that somebody keeps elsewhere, such as a mounted secret.
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			all = append(all, restrict(path, 0o600))
		}
	}
	return errors.Join(all...)
}

func restrict(path string, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
		return fmt.Errorf("other users of this machine can read %s: %w. To stop that: chmod %o %s", path, plain(err),
			mode,
			path)
	}
	return nil
}

// systemDirs are directories of the machine. Programs keep theirs below them.
var systemDirs = []string{"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc",
	"/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/local", "/var", "/var/lib", "/var/tmp", "/Users"}

// isShared reports whether a directory is plainly not Reprise's alone: one of the machine's, or a person's home.
func isShared(path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	home, noHome := os.UserHomeDir()
	shared := func(path string) bool {
		return slices.Contains(systemDirs, path) || filepath.Dir(path) == path ||
			noHome == nil && path == filepath.Clean(home)
	}
	target, err := filepath.EvalSymlinks(path)
	return shared(path) || err == nil && shared(target)
}

// PrivateFiles returns the paths of the files that nobody else should read: the keys, the databases and the lock.
func (d Dir) PrivateFiles() (all []string) {
	files, _ := os.ReadDir(d.Path) // a directory that cannot be read has nothing to protect
	for _, f := range files {
		name := f.Name()
		if f.IsDir() || !slices.Contains([]string{KeyFile, NextKeyFile, lockFile}, name) &&
			!strings.HasPrefix(name, oldKeyFile) && !strings.HasPrefix(name, newFile) &&
			!strings.HasPrefix(name, db.FileName) {
			continue
		}
		all = append(all, filepath.Join(d.Path, name))
	}
	return all
}
