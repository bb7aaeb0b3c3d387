package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"

	"reprise/web"
)

// Recount rebuilds the columns that statistics are counted from, and writes to out what it has done. It may run beside
// a server.
func (d Dir) Recount(ctx context.Context, out io.Writer) (err error) {
	db, err := d.openBeside(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	listens, err := db.Recount(ctx)
	if err != nil {
		return d.explain(err)
	}
	fmt.Fprintf(out, "The statistics are rebuilt from %s.\n", web.Count(listens, "listen", "listens"))
	return nil
}
