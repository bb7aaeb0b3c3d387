package datadir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/web"
)

// CopyDatabase copies a database to another place and checks the copy; see store.CopyDatabase. from and to are folders
// with a database, or addresses of Postgres, whose key is in d. tell hears how much of the work is done, and out
// is told what to do next. After an error it may be called again.
func (d Dir) CopyDatabase(ctx context.Context, from, to string, tell func(done, all int64), out io.Writer) error {
	source, err := d.at(from)
	if err != nil {
		return err
	}
	target, err := d.at(to)
	if err != nil {
		return err
	}
	if source.Place() == target.Place() || source.DatabaseURL == "" && target.DatabaseURL == "" &&
		source.Path == target.Path {
		return fmt.Errorf("%s and %s are the same database", from, to)
	}
	if err := source.requireDatabase(ctx); err != nil {
		return err
	}
	key, err := source.Key(ctx)
	if err != nil {
		return err
	}
	if target.DatabaseURL == "" {
		if err := target.Make(); err != nil {
			return err
		}
	}
	for _, dir := range []Dir{source, target} {
		if dir.DatabaseURL != "" {
			continue
		}
		unlock, err := dir.Lock()
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := source.shareKey(target); err != nil {
		return err
	}
	fmt.Fprintf(out, "Reprise copies %s to %s.\n", source.Place(), target.Place())
	r, err := store.CopyDatabase(ctx, store.CopyOf{From: source.Place(), To: target.Place(), Key: key, Tell: tell})
	if err != nil {
		return source.notCopied(ctx, err)
	}
	fmt.Fprintf(out, "The copy is complete: %s in %s, read through in both and the same (checksum %s).\n",
		web.Count(int(r.Rows()), "row", "rows"), web.Count(len(r.Tables), "table", "tables"), r.Checksum())
	if r.Altered > 0 {
		fmt.Fprintf(out, "%s characters that Postgres can't store; those were left out.\n",
			web.Count(int(r.Altered), "text had", "texts had"))
	}
	if len(r.Others) > 0 {
		fmt.Fprintf(out, "Tables that aren't Reprise's were left where they are: %s.\n", strings.Join(r.Others, ", "))
	}
	source.next(target, out)
	return nil
}

// notCopied turns the error of a copy into a sentence.
func (d Dir) notCopied(ctx context.Context, err error) error {
	trouble, ok := errors.AsType[*resilience.LocalError](err)
	unopened, at := errors.AsType[*store.UnopenedError](err)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, db.ErrWrongKey):
		return d.wrongKey(err)
	case ok && at:
		return &explained{err, fmt.Sprintf("the database %s can't be used. %s", unopened.Place, trouble.Problem)}
	case ok:
		return &explained{err, fmt.Sprintf("the copy isn't complete. %s In %s nothing was changed. "+
			"Run the command again, and it starts over", trouble.Problem, d.Place())}
	}
	return err
}

// at returns the directory that belongs to an address of a database, with the key of the settings or its own.
func (d Dir) at(address string) (Dir, error) {
	scheme, _, is := strings.Cut(address, "://")
	switch {
	case is && (scheme == "postgres" || scheme == "postgresql"):
		d.DatabaseURL = resilience.Secret(address)
		return d, nil
	case is:
		return d, fmt.Errorf("%s:// is no database that Reprise knows. Name a data directory, or an address "+
			"of Postgres such as postgres://user:password@host:5432/database", scheme)
	}
	path, err := filepath.Abs(address)
	if filepath.Base(path) == db.FileName { // the file in it
		path = filepath.Dir(path)
	}
	d.Path, d.DatabaseURL = path, ""
	return d, err
}

// shareKey puts the key file of a directory into another one for its database, unless that has it.
func (d Dir) shareKey(target Dir) error {
	if d.SecretKey != "" || target.DatabaseURL != "" || target.Path == d.Path {
		return nil
	}
	key, err := os.ReadFile(filepath.Join(d.Path, KeyFile))
	if err != nil {
		return fmt.Errorf("read the secret key: %w", plain(err))
	}
	path := filepath.Join(target.Path, KeyFile)
	has, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return writeNew(path, string(key))
	case err != nil:
		return fmt.Errorf("the secret key %s can't be read: %w", path, plain(err))
	case !bytes.Equal(bytes.TrimSpace(has), bytes.TrimSpace(key)):
		return fmt.Errorf("%s is another key than that of the database %s. Move it away, or name another "+
			"folder; nothing was changed",
			path, d.Place())
	}
	return nil
}

// next says what is left to do after a copy.
func (d Dir) next(target Dir, out io.Writer) {
	switch {
	case target.DatabaseURL != "":
		fmt.Fprintf(out, "To use it, set database_url to its address and start the server with the data directory\n"+
			"%s, where the secret key, pictures and imports stay.\n", d.Path)
	case target.Path == d.Path:
		fmt.Fprintf(out, "To use it, remove database_url from the settings and start the server.\n")
	default:
		fmt.Fprintf(out, "To use it, start the server with -data-dir %s and without database_url. The pictures and\n"+
			"imports in %s aren't part of the database; copy them as well.\n", target.Path, d.Path)
	}
	fmt.Fprintf(out, "%s is as it was. Don't run a server on it as well: both would send the same.\n", d.Place())
}
