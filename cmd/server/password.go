package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/store"
	"reprise/web"
)

// runResetPassword gives an account a new password. It is one short write, so the server may go on; whoever is signed in
// to that account is signed out by it.
func runResetPassword(ctx context.Context, c config.Config, name string, stdin io.Reader, stdout io.Writer) (err error) {
	dir := dataDir(c)
	db, err := dir.OpenBeside(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	u, err := db.UserByName(ctx, name)
	if errors.Is(err, accounts.ErrUnknown) {
		return unknownName(ctx, db, name)
	}
	if err != nil {
		return dir.Explain(err)
	}
	password, err := newPassword(ctx, u.Name, stdin, stdout)
	if err != nil {
		return err
	}
	people, err := accounts.New(db)
	if err != nil {
		return err
	}
	if err := people.ResetPassword(ctx, name, password); err != nil {
		return dir.Explain(err)
	}
	fmt.Fprintf(stdout, "%s has a new password. Every browser that was signed in with the old one has to sign in again.\n", u.Name)
	tokens, err := db.Tokens(ctx, u.ID)
	if len(tokens) > 0 {
		fmt.Fprintf(stdout, "%s on working; the settings page revokes what should not.\n", web.Count(len(tokens), "access token goes", "access tokens go"))
	}
	return err
}

func unknownName(ctx context.Context, db *store.Store, name string) error {
	all, err := db.Users(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("there are no accounts yet. Start the server and open the link that it prints to make the first one")
	}
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.Name
	}
	if near := config.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no account of the name %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("there is no account of the name %q. The settings page shows administrators which there are", name)
}

// newPassword asks for a password on a terminal, twice and unseen, or reads one line.
func newPassword(ctx context.Context, name string, stdin io.Reader, stdout io.Writer) (string, error) {
	f, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return "", errors.New("no password came on standard input. Send it as one line, or run the command on a terminal to be asked for it")
		}
		return line, nil
	}
	first, err := ask(ctx, f, stdout, "New password for "+name+": ")
	if err != nil {
		return "", err
	}
	again, err := ask(ctx, f, stdout, "The same once more: ")
	if err == nil && first != again {
		err = errors.New("the two were not the same, and nothing was changed. Run the command again")
	}
	return first, err
}

// ask reads a line from the terminal without showing it. When ctx ends first, the terminal shows again what is typed.
func ask(ctx context.Context, f *os.File, stdout io.Writer, prompt string) (string, error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	fmt.Fprint(stdout, prompt)
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // nothing can stop it from waiting for a key, so it is left behind when the program ends
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(stdout)
		if a.err != nil {
			return "", fmt.Errorf("read the password: %w", a.err)
		}
		return string(a.line), nil
	case <-ctx.Done():
		fmt.Fprintln(stdout)
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
