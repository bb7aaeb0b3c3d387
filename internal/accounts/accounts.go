// Package accounts holds the people who may use this installation: names, roles, passwords and personal tokens.
//
// Passwords are stored as argon2id hashes. Hashing costs memory on purpose (19 MiB each), so only a few run at once;
// the others wait their turn. Strangers, who may be anybody on the internet, have half of the turns and a short queue.
//
// Passwords that people try first are refused. Their list is embedded (LICENSES names where it is from) and read from
// its compressed form at each check, so that it takes no memory in between.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"reprise/internal/words"
)

// The roles of a user.
const (
	Admin  = "admin"  // also sees and controls what all users share
	Member = "member" // sees what is theirs
)

var (
	// ErrTaken says that the name belongs to another account.
	ErrTaken = errors.New("there is an account of that name already")
	// ErrUnknown says that there is no such account.
	ErrUnknown = errors.New("no such account")
	// ErrWrong says that the name or the password is wrong, and not which.
	ErrWrong = errors.New("the name or the password is wrong")
	// ErrLastAdmin says that an installation would be left without an administrator.
	ErrLastAdmin = errors.New("the last administrator stays")
	// ErrBusy says that too many strangers try passwords at once.
	ErrBusy = errors.New("too many sign in at once")
	// ErrNotFirst says that the first account has been made already.
	ErrNotFirst = errors.New("the first account has been made already")
)

// InputError is a sentence about what a person typed.
type InputError struct{ Text words.Text }

// Error returns the sentence in English.
func (e InputError) Error() string { return e.Text.String() }

// Part is a part of all accounts, the oldest first: those whose names contain Like, whose IDs are greater than After,
// without the first Skip of them, at most Limit.
type Part struct {
	Like        string
	After       int64
	Skip, Limit int
}

// User is a person with an account.
type User struct {
	ID           int64
	Name         string
	PasswordHash string
	Role         string
	CreatedAt    time.Time
	Choices
	SharesListening bool   // everybody with an account may see their page of numbers
	BrowserLanguage string // what the browser preferred when they last signed in; may be empty
}

// Store keeps the accounts.
type Store interface {
	AddUser(ctx context.Context, u User, first bool) (User, error)
	UserByName(ctx context.Context, name string) (User, error)
	SetPassword(ctx context.Context, user int64, hash string) error
	// SetRole returns the role before, ErrUnknown or ErrLastAdmin.
	SetRole(ctx context.Context, user int64, role string) (before string, err error)
	// Rename returns the name before, ErrUnknown or ErrTaken.
	Rename(ctx context.Context, user int64, name string) (before string, err error)
	SetChoices(ctx context.Context, user int64, c Choices) error
	ShareListening(ctx context.Context, user int64, on bool) error
}

// Accounts makes accounts and checks passwords. It is safe for concurrent use.
type Accounts struct {
	store Store
	slots *slots
}

// New returns Accounts over a store that hash at most hashesAtOnce passwords at once, at 19 MiB each.
func New(store Store, hashesAtOnce int) *Accounts {
	return &Accounts{store: store, slots: newSlots(hashesAtOnce)}
}

// Create makes an account. If first is set, it makes the first account of all or returns ErrNotFirst. An unusable name,
// password or role is an InputError, a name in use ErrTaken.
func (a *Accounts) Create(ctx context.Context, name, password, role string, first bool) (User, error) {
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return User{}, err
	}
	if err := checkRole(role); err != nil {
		return User{}, err
	}
	hash, err := a.hash(ctx, name, password)
	if err != nil {
		return User{}, err
	}
	return a.store.AddUser(ctx, User{Name: name, PasswordHash: hash, Role: role, CreatedAt: time.Now()}, first)
}

func checkRole(role string) error {
	if role != Admin && role != Member {
		return InputError{words.New("input.role")}
	}
	return nil
}

func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > 64 {
		return InputError{words.New("input.name")}
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return InputError{words.New("input.name_visible")}
	}
	return nil
}

// NameKey returns what two names of accounts have in common that are taken for one.
func NameKey(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// CheckLabel returns the name that a person gives to a thing of theirs as it is kept, or an InputError.
func CheckLabel(name string) (string, error) {
	name = strings.TrimSpace(name)
	return name, checkName(name)
}

// hash returns the hash of a new password for the account of a name, or an InputError.
func (a *Accounts) hash(ctx context.Context, name, password string) (string, error) {
	switch n := utf8.RuneCountInString(password); {
	case n < 10:
		return "", InputError{words.New("input.password_short")}
	case n > 1024:
		return "", InputError{words.New("input.password_long")}
	}
	if weak := Weakness(password, name, "reprise"); !weak.IsZero() {
		return "", InputError{weak}
	}
	release, err := a.slots.take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return argon2id.CreateHash(password, params)
}

// Check returns the account that name and password belong to, or ErrWrong.
func (a *Accounts) Check(ctx context.Context, name, password string) (User, error) {
	return a.check(ctx, name, password, a.slots.take)
}

// CheckStranger does what Check does, for somebody who may be anybody. It returns ErrBusy when too many of them ask at
// once.
func (a *Accounts) CheckStranger(ctx context.Context, name, password string) (User, error) {
	return a.check(ctx, name, password, a.slots.takeStranger)
}

func (a *Accounts) check(
	ctx context.Context, name, password string, slot func(context.Context) (func(), error),
) (User, error) {
	u, err := a.store.UserByName(ctx, name)
	hash := u.PasswordHash
	if err != nil && !errors.Is(err, ErrUnknown) {
		return User{}, err
	}
	if hash == "" { // nobody, or somebody who has no password
		hash = decoy
	}
	release, slotErr := slot(ctx)
	if slotErr != nil {
		return User{}, slotErr
	}
	defer release()
	match, compareErr := argon2id.ComparePasswordAndHash(password, hash)
	if compareErr != nil {
		return User{}, fmt.Errorf("compare password: %w", compareErr)
	}
	if err != nil || !match || u.PasswordHash == "" {
		return User{}, ErrWrong
	}
	return u, nil
}

// ChangePassword replaces a user's password. It returns ErrWrong if the old one is wrong.
func (a *Accounts) ChangePassword(ctx context.Context, name, old, password string) error {
	u, err := a.Check(ctx, name, old)
	if err != nil {
		return err
	}
	hash, err := a.hash(ctx, u.Name, password)
	if err != nil {
		return err
	}
	return a.store.SetPassword(ctx, u.ID, hash)
}

// SetRole changes the role of a person, and returns the one before. An unusable role is an InputError; the error is
// ErrUnknown without that person, and ErrLastAdmin if nobody would be left who administers.
func (a *Accounts) SetRole(ctx context.Context, user int64, role string) (before string, err error) {
	if err := checkRole(role); err != nil {
		return "", err
	}
	return a.store.SetRole(ctx, user, role)
}

// Rename changes the name of a person, and returns the one before. An unusable name is an InputError; the error is
// ErrUnknown without that person, and ErrTaken if another account has the name. Sessions and tokens go on.
func (a *Accounts) Rename(ctx context.Context, user int64, name string) (before string, err error) {
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return "", err
	}
	return a.store.Rename(ctx, user, name)
}

// ResetPassword replaces the password of the account of that name, or returns ErrUnknown. It does not ask for the old
// one, so only an administrator's request may lead here.
func (a *Accounts) ResetPassword(ctx context.Context, name, password string) error {
	u, err := a.store.UserByName(ctx, name)
	if err != nil {
		return err
	}
	hash, err := a.hash(ctx, u.Name, password)
	if err != nil {
		return err
	}
	return a.store.SetPassword(ctx, u.ID, hash)
}
