package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/store"
	"reprise/internal/words"
	"reprise/web"
)

// ResetPassword gives an account the password that ask returns for it, also while a server runs, and turns its second
// step off. It ends the account's sessions, and writes to out what it has done.
func (d Dir) ResetPassword(ctx context.Context, name string, ask func(account string) (string, error),
	out io.Writer) (err error) {
	db, err := d.openBeside(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	u, err := db.UserByName(ctx, name)
	if errors.Is(err, accounts.ErrUnknown) {
		return unknownName(ctx, db, name)
	}
	if err != nil {
		return d.explain(err)
	}
	password, err := ask(u.Name)
	if err != nil {
		return err
	}
	people := accounts.New(db, 1)
	if err := people.ResetPassword(ctx, name, password); err != nil {
		return d.explain(err)
	}
	stepped, err := accounts.NewSecondStep(db).TurnOff(ctx, u.ID)
	if err != nil {
		return d.explain(err)
	}
	toldErr := d.tell(ctx, db)
	ctx = activity.WithActor(ctx, activity.Actor{Name: "command line"})
	if err := db.Note(ctx, activity.Entry{User: u.ID, Action: activity.PasswordReset}); err != nil {
		return d.explain(err)
	}
	if stepped {
		did := activity.Entry{User: u.ID, Action: activity.SecondStepReset, Subject: u.Name}
		if err := db.Note(ctx, did); err != nil {
			return d.explain(err)
		}
	}
	fmt.Fprintf(out, "%s has a new password. "+
		"Every browser that was signed in with the old one has to sign in again.\n", u.Name)
	if stepped {
		fmt.Fprintf(out, "The second step is off: %s signs in with the password alone, and can set it up again.\n",
			u.Name)
	}
	if toldErr != nil {
		fmt.Fprintf(out, "Pages that are open may stay open for up to 15 minutes: %v.\n", toldErr)
	}
	tokens, err := db.Tokens(ctx, u.ID)
	if len(tokens) > 0 {
		fmt.Fprintf(out, "%s on working; the settings page revokes what should not.\n",
			web.Count(len(tokens), "access token goes", "access tokens go"))
	}
	return err
}

func unknownName(ctx context.Context, db *store.Store, name string) error {
	all, err := db.Users(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("there are no accounts yet. " +
			"Start the server and open the link it prints to create the first one")
	}
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.Name
	}
	if near := words.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no account named %q; did you mean %q?", name, near)
	}
	var some []string
	for _, u := range all {
		if u.Role == accounts.Admin && len(some) < 5 {
			some = append(some, u.Name)
		}
	}
	return fmt.Errorf("there is no account named %q. The administrators here: %s", name, strings.Join(some, ", "))
}
