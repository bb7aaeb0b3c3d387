package datadir

import (
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

// Restore puts the copy in file in the place of the directory's database; see store.Restore. It writes to out who has
// to sign in again, and who and what was removed since the copy was made.
func (d Dir) Restore(ctx context.Context, file string, out io.Writer) error {
	if d.DatabaseURL != "" {
		return fmt.Errorf("the database %s is kept by Postgres. Restore it with pg_restore; "+
			"docs/commands.md says how to end the sessions and invitations in it", d.Place())
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%s can't be read: %w", file, plain(err))
	}
	if err := d.Make(); err != nil {
		return err
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(d.Path, KeyFile)); d.SecretKey == "" && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s in %s. Put the key that belongs to %s there first; nothing was changed",
			KeyFile, d.Path, file)
	}
	key, err := d.Key(ctx)
	if err != nil {
		return err
	}
	r, err := store.Restore(ctx, file, d.Path, key)
	trouble, local := errors.AsType[*resilience.LocalError](err)
	switch {
	case errors.Is(err, db.ErrWrongKey):
		return fmt.Errorf("the secret key doesn't open %s. Put the one that belongs to it into %s; nothing was changed",
			file, d.Path)
	case local:
		return &explained{err, fmt.Sprintf("%s can't be restored. %s", file, trouble.Problem)}
	case err != nil:
		return err
	}
	tell(out, file, r)
	return nil
}

func tell(out io.Writer, file string, r store.Restored) {
	fmt.Fprintf(out, "%s is in place again, with %s. Everybody signs in again, and all invitations and links to\n"+
		"reset a password are void.\n", file, web.Count(int(r.Listens), "listen", "listens"))
	if r.Kept != "" {
		fmt.Fprintf(out, "The database until now is kept as %s.\n", r.Kept)
	}
	who := fmt.Sprintf("  people: %s\n  access tokens: %s\n", names(r.People), names(r.Tokens))
	if !r.Compared {
		fmt.Fprint(out, "There was no database to compare it with, so people and tokens that were removed since are\n"+
			"there again. Look through these, and remove what has to go:\n"+who)
		return
	}
	if len(r.People)+len(r.Tokens) > 0 {
		fmt.Fprint(out, "These were removed after the copy was made, and stay removed:\n"+who)
	}
	fmt.Fprintf(out, "Passwords and roles are those of today. Of what waits to be sent in the copy, %s sent since;\n"+
		"Reprise doesn't send them again.\n", web.Count(r.Sent, "listen was", "listens were"))
}

func names(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
