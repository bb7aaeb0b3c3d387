package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/stretchr/testify/require"
)

const hashesAtOnce = 4

// memory is a Store for one test.
type memory struct {
	mu    sync.Mutex
	users map[string]User
	err   error // what every call answers, if set
}

func (m *memory) AddUser(_ context.Context, u User, first bool) (User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch _, taken := m.users[u.Name]; {
	case m.err != nil:
		return u, m.err
	case first && len(m.users) > 0:
		return u, ErrNotFirst
	case taken:
		return u, ErrTaken
	}
	u.ID = int64(len(m.users) + 1)
	m.users[u.Name] = u
	return u, nil
}

func (m *memory) Rename(context.Context, int64, string) (string, error) { return "", m.err }

func (m *memory) SetChoices(context.Context, int64, Choices) error { return m.err }

func (m *memory) ShareListening(context.Context, int64, bool) error { return m.err }

func (m *memory) SetRole(context.Context, int64, string) (string, error) { return "", m.err }

func (m *memory) UserByName(_ context.Context, name string) (User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.users[name]
	if m.err != nil {
		return u, m.err
	}
	if !ok {
		return u, ErrUnknown
	}
	return u, nil
}

func (m *memory) SetPassword(_ context.Context, user int64, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, u := range m.users {
		if u.ID == user {
			u.PasswordHash = hash
			m.users[name] = u
		}
	}
	return m.err
}

func setup(t testing.TB) (*Accounts, *memory) {
	t.Helper()
	m := &memory{users: map[string]User{}}
	a := New(m, hashesAtOnce)
	return a, m
}

const password = "a few random words"

func TestCreateAndCheck(t *testing.T) {
	t.Parallel()
	a, m := setup(t)
	alice, err := a.Create(t.Context(), "  Alice ", password, Admin, true)
	require.NoError(t, err)
	require.Equal(t, "Alice", alice.Name)
	require.Equal(t, Admin, alice.Role)
	require.WithinDuration(t, time.Now(), alice.CreatedAt, time.Minute)
	bob, err := a.Create(t.Context(), "Bob", password, Member, false)
	require.NoError(t, err)
	require.NotEqual(t, alice.PasswordHash, bob.PasswordHash, "each has its own salt")

	got, err := a.Check(t.Context(), "Alice", password)
	require.NoError(t, err)
	require.Equal(t, alice, got)
	_, wrong := a.Check(t.Context(), "Alice", password+" ")
	_, unknown := a.Check(t.Context(), "Nobody", password)
	for _, err := range []error{wrong, unknown} {
		require.Equal(t, ErrWrong, err)
	}

	_, err = a.Create(t.Context(), "Carol", password, Admin, true)
	require.ErrorIs(t, err, ErrNotFirst)
	_, err = a.Create(t.Context(), "Bob", password, Member, false)
	require.ErrorIs(t, err, ErrTaken)
	require.Len(t, m.users, 2)
}

func TestInputIsRefusedInASentence(t *testing.T) {
	t.Parallel()
	a, m := setup(t)
	const common = "This password is one of the first that anyone would guess."
	const own = "This password is too close to a name."
	const short = "The password needs at least 10 characters."
	cases := []struct{ name, password, role, want string }{
		{"", password, Member, "A name needs 1 to 64 characters."},
		{" \t ", password, Member, "A name needs 1 to 64 characters."},
		{strings.Repeat("ü", 65), password, Member, "A name needs 1 to 64 characters."},
		{"Al\x00ice", password, Member, "A name can't contain invisible characters."},
		{"Ali\u200bce", password, Member, "A name can't contain invisible characters."},
		{"Al\nice", password, Member, "A name can't contain invisible characters."},
		{"Alice", "nine char", Member, short},
		{"Alice", strings.Repeat("ü", 9), Member, short},
		{"Alice", strings.Repeat("x", 1025), Member, "The password can't be longer than 1,024 characters."},
		{"Alice", "Password2026", Member, common},
		{"Alice", "alice-alice", Member, own},
		{"Alice", "reprise2026", Member, own},
		{"Alice", password, "owner", `The role must be "admin" or "member".`},
	}
	for _, c := range cases {
		_, err := a.Create(t.Context(), c.name, c.password, c.role, false)
		require.ErrorAs(t, err, new(InputError))
		require.EqualError(t, err, c.want)
	}
	require.Empty(t, m.users)
	for i, longest := range []string{"ten words?", "über ärger", strings.Repeat("fünf ", 204) + "fünf"} {
		name := fmt.Sprint(i, strings.Repeat("ü", 63))
		_, err := a.Create(t.Context(), name, longest, Member, false)
		require.NoError(t, err)
		_, err = a.Check(t.Context(), name, longest)
		require.NoError(t, err)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	a, _ := setup(t)
	_, err := a.Create(t.Context(), "Alice", password, Admin, true)
	require.NoError(t, err)
	const next = "some other random words"
	require.ErrorIs(t, a.ChangePassword(t.Context(), "Alice", "not the old one", next), ErrWrong)
	require.ErrorIs(t, a.ChangePassword(t.Context(), "Nobody", password, next), ErrWrong)
	_, short := errors.AsType[InputError](a.ChangePassword(t.Context(), "Alice", password, "short"))
	require.True(t, short)
	_, err = a.Check(t.Context(), "Alice", password)
	require.NoError(t, err, "still the old one")
	require.NoError(t, a.ChangePassword(t.Context(), "Alice", password, next))
	_, err = a.Check(t.Context(), "Alice", password)
	require.ErrorIs(t, err, ErrWrong)
	_, err = a.Check(t.Context(), "Alice", next)
	require.NoError(t, err)
}

func TestAStoreFailureIsNoWrongPassword(t *testing.T) {
	t.Parallel()
	a, m := setup(t)
	_, err := a.Create(t.Context(), "Alice", password, Admin, true)
	require.NoError(t, err)
	m.users["Broken"] = User{PasswordHash: "not a hash"}
	_, err = a.Check(t.Context(), "Broken", password)
	require.ErrorContains(t, err, "compare password")
	require.NotErrorIs(t, err, ErrWrong)
	m.err = errors.New("the disk is gone")
	_, err = a.Check(t.Context(), "Alice", password)
	require.ErrorIs(t, err, m.err)
	_, err = a.Create(t.Context(), "Bob", password, Member, false)
	require.ErrorIs(t, err, m.err)
}

// It fills every slot but one, so that the first call runs and the next ones wait.
func TestOnlyAFewHashAtOnce(t *testing.T) {
	t.Parallel()
	_, m := setup(t)
	synctest.Test(t, func(t *testing.T) {
		a := &Accounts{store: m, slots: newSlots(hashesAtOnce)} // channels of the bubble
		for range hashesAtOnce - 1 {
			a.slots.all <- struct{}{}
		}
		_, err := a.Create(t.Context(), "Alice", password, Admin, true)
		require.NoError(t, err)
		require.Len(t, a.slots.all, hashesAtOnce-1, "its slot is free again")

		a.slots.all <- struct{}{}
		results := make(chan error, 4)
		go func() { _, err := a.Check(t.Context(), "Alice", password); results <- err }()
		go func() { _, err := a.Check(t.Context(), "Nobody", password); results <- err }()
		go func() { _, err := a.Create(t.Context(), "Bob", password, Member, false); results <- err }()
		synctest.Wait()
		require.Empty(t, results, "all wait for a slot")
		<-a.slots.all
		got := map[error]int{<-results: 1}
		got[<-results]++
		got[<-results]++
		require.Equal(t, map[error]int{nil: 2, ErrWrong: 1}, got, "and take it one after the other")
		require.Len(t, a.slots.all, hashesAtOnce-1)
	})
}

func TestWaitingForASlotCanBeCanceled(t *testing.T) {
	t.Parallel()
	_, m := setup(t)
	synctest.Test(t, func(t *testing.T) {
		a := &Accounts{store: m, slots: newSlots(hashesAtOnce)}
		for range hashesAtOnce {
			a.slots.all <- struct{}{}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := a.Check(ctx, "Nobody", password)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = a.Create(ctx, "Bob", password, Member, false)
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, a.slots.all, hashesAtOnce, "no slot was taken or freed")
	})
}

// Strangers have two of the four slots, and eight may wait.
func TestFloodOfStrangersMakesNobodyWait(t *testing.T) {
	t.Parallel()
	a, m := setup(t)
	_, err := a.Create(t.Context(), "Alice", password, Admin, true)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		a := &Accounts{store: m, slots: newSlots(hashesAtOnce)}
		busy, err := a.slots.takeStranger(t.Context()) // two that never end
		require.NoError(t, err)
		_, err = a.slots.takeStranger(t.Context())
		require.NoError(t, err)
		results := make(chan error, 100)
		for range 100 {
			go func() { _, err := a.CheckStranger(t.Context(), "Alice", "guess"); results <- err }()
		}
		synctest.Wait()
		require.Len(t, results, 92, "the others wait")
		for range 92 {
			require.ErrorIs(t, <-results, ErrBusy)
		}
		start := time.Now()
		_, err = a.Check(t.Context(), "Alice", password)
		require.NoError(t, err)
		require.Equal(t, start, time.Now(), "who is known waits for none of them")

		time.Sleep(2 * time.Second)
		busy()
		synctest.Wait()
		require.Len(t, results, 8, "they take their turn")
		for range 8 {
			require.ErrorIs(t, <-results, ErrWrong)
		}
		busy, err = a.slots.takeStranger(t.Context())
		require.NoError(t, err)
		defer busy()
		start = time.Now()
		_, err = a.CheckStranger(t.Context(), "Alice", password)
		require.ErrorIs(t, err, ErrBusy)
		require.Equal(t, 3*time.Second, time.Since(start))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = a.CheckStranger(ctx, "Alice", password)
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, a.slots.queue, 2)
	})
}

// Checking a password costs the same whether the account exists or not.
func TestTheDecoyCostsWhatAHashCosts(t *testing.T) {
	t.Parallel()
	real, err := argon2id.CreateHash(password, params)
	require.NoError(t, err)
	require.Len(t, decoy, len(real))
	costs, salt, key, err := argon2id.DecodeHash(decoy)
	require.NoError(t, err)
	require.Equal(t, params, costs)
	require.Len(t, salt, int(params.SaltLength))
	require.Len(t, key, int(params.KeyLength))
}
