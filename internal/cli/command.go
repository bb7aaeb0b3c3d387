package cli

import (
	"context"
	"fmt"
	"io"

	"reprise/internal/datadir"
)

// Console is where the program reads and writes.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
}

// Do does the command of the options on a data directory. Every command can be run again after ctx has stopped it.
func (o Options) Do(ctx context.Context, dir datadir.Dir, at Console) (err error) {
	switch o.Command {
	case "backup":
		err = dir.Backup(ctx, o.Operand, at.Out)
	case "restore":
		err = dir.Restore(ctx, o.Operand, at.Out)
	case "new-key":
		fmt.Fprintln(at.Out, datadir.NewKey())
	case "rotate-key":
		err = dir.RotateKey(ctx, at.Out)
	case "forget-secrets":
		sure := func() (bool, error) { return confirm("forget", at.In, at.Out) }
		err = dir.ForgetSecrets(ctx, sure, at.Out)
	case "copy-database":
		err = dir.CopyDatabase(ctx, o.Operand, o.Second, progress(at.Out), at.Out)
	case "recount":
		err = dir.Recount(ctx, at.Out)
	case "reset-password":
		ask := func(account string) (string, error) { return newPassword(ctx, account, at.In, at.Out) }
		err = dir.ResetPassword(ctx, o.Operand, ask, at.Out)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s was stopped before it was done. Run it again", o.Command)
	}
	return err
}
