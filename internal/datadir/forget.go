package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/web"
)

// ifLost ends an error about a key that does not open the database.
const ifLost = "If the key is lost for good, server forget-secrets starts with a new one: " +
	"everybody then reconnects their services and sets up second steps and passkeys again, and nothing else is lost"

// ForgetSecrets drops what only a lost key opens, and makes a new key, if confirm agrees after out has said what goes.
// It keeps a copy of the database in the directory beforehand. It may be killed at any moment; the next start, or
// running it again, completes it.
func (d Dir) ForgetSecrets(ctx context.Context, confirm func() (bool, error), out io.Writer) error {
	if err := d.requireDatabase(ctx); err != nil {
		return err
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	look, err := d.requireLost(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The secrets in %s can't be read with the current key.\nIf you continue, this deletes: the "+
		"passwords and permissions of all connections, the secrets among the settings, the addresses of all channels, "+
		"and everybody's second step, recovery codes and passkeys.\nEverybody has to reconnect. A password alone "+
		"signs people in then; somebody who has only a passkey needs a link of an administrator. Accounts, listens, "+
		"playlists and all other settings stay.\n", d.Place())
	if look.SecondSteps+look.Passkeys > 0 {
		fmt.Fprintf(out, "There are %s and %s.\n", web.Count(look.SecondSteps, "second step", "second steps"),
			web.Count(look.Passkeys, "passkey", "passkeys"))
	}
	keep := ""
	if d.DatabaseURL == "" {
		keep = filepath.Join(d.Path, fmt.Sprintf("%s.%s.bak", db.FileName, time.Now().Format("20060102-150405")))
		fmt.Fprintf(out, "Reprise keeps a copy of the database as %s.\n", keep)
	} else {
		fmt.Fprint(out, "Make a copy with pg_dump first; this command makes none on Postgres.\n")
	}
	if yes, err := confirm(); err != nil || !yes {
		return errors.Join(err, errors.New("nothing was changed"))
	}
	key, err := d.keyInstead()
	if err != nil {
		return err
	}
	forgotten, err := store.ForgetSecrets(ctx, d.Place(), key, keep)
	if err != nil {
		return fmt.Errorf("forget the secrets: %w. Run it again", d.explain(err))
	}
	fmt.Fprintf(out, "%s and %s have to be set up again; Reprise says so on its pages.\n",
		web.Count(forgotten.Connections, "connection", "connections"),
		web.Count(forgotten.Channels, "channel", "channels"))
	if forgotten.SecondSteps+forgotten.Passkeys > 0 {
		fmt.Fprintf(out, "%s and %s are gone; their owners set them up again under Your account.\n",
			web.Count(forgotten.SecondSteps, "second step", "second steps"),
			web.Count(forgotten.Passkeys, "passkey", "passkeys"))
	}
	if d.SecretKey != "" {
		fmt.Fprintln(out, "From now on the setting secret_key is the key.")
		return nil
	}
	if _, err := d.adoptKey(); err != nil {
		return err
	}
	fmt.Fprintf(out, "The new key is in %s. Make a backup, and keep the key in another place.\n",
		filepath.Join(d.Path, KeyFile))
	return nil
}

// requireLost returns what is known about the database, and an error if there is a key that opens it.
func (d Dir) requireLost(ctx context.Context) (db.Look, error) {
	key, err := d.Key(ctx)
	if err != nil {
		key = nil // it is missing or cut off
	}
	look, err := db.LookAt(ctx, d.Place(), false, key)
	switch {
	case err != nil:
		return look, d.explain(err)
	case look.Sound && look.Opens:
		return look, errors.New("the key fits the secrets, so there's nothing to forget. Start the server")
	}
	if next, err := d.NextKey(); err == nil {
		if fits, err := db.LookAt(ctx, d.Place(), false, next); err == nil && fits.Opens {
			return look, fmt.Errorf("the secrets already use the key in %s. Start the server; it takes that key over",
				filepath.Join(d.Path, NextKeyFile))
		}
	}
	return look, nil
}

// keyInstead returns the key that takes the place of the lost one: that of the settings, or a new one.
func (d Dir) keyInstead() (*db.Key, error) {
	if d.SecretKey != "" {
		return d.keySet()
	}
	return d.prepareKey()
}
