package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"reprise/internal/config"
	"reprise/internal/resilience"
	"reprise/internal/store"
)

// runBackup copies the database while the server goes on.
func runBackup(ctx context.Context, c config.Config, file string, stdout io.Writer) error {
	if err := existingDatabase(ctx, c); err != nil {
		return err
	}
	secret, err := secretKey(ctx, c)
	if err != nil {
		return err
	}
	key, err := store.NewKey(secret)
	if err != nil {
		return err
	}
	kept := filepath.Join(c.DataDir, keyFile)
	if c.SecretKey != "" {
		kept = "the setting secret_key"
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	copied, err := store.Backup(ctx, place(c), path, key)
	if next, nextErr := readKey(filepath.Join(c.DataDir, nextKeyFile)); errors.Is(err, store.ErrWrongKey) && nextErr == nil { // changing it broke off
		kept = filepath.Join(c.DataDir, nextKeyFile)
		copied, err = store.Backup(ctx, place(c), path, next)
	}
	if errors.Is(err, store.ErrWrongKey) {
		return wrongKey(c, err)
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return fmt.Errorf("the database %s cannot be copied. %s", place(c), e.Problem)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s holds %s (%s). It was read through and is sound.\n", file, counted(copied.Listens, "listen", "listens"), size(copied.Bytes))
	fmt.Fprintf(stdout, "Keep %s as well, in another place than the copy: without it nobody can open the credentials in the copy,\nand everybody would have to connect their services again.\n"+
		"To go back to it, put it as %s into an empty data directory, with that key.\n", kept, store.FileName)
	return nil
}

// counted is a number with its word, with commas between thousands.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text + " " + many
}

// size is a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes < mib:
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	case bytes >= mib<<10:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(mib<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mib)
}
