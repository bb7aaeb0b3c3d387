package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"reprise/internal/library"
	"reprise/internal/words"
)

const (
	recoveryCodes  = 10
	recoveryLength = 24 // letters and digits of 5 random bits each: too many to be found from a hash
	recoveryGroup  = 4
	codeDigits     = 6
	stepLength     = 30 * time.Second
	stepsAround    = 1 // how many steps a clock may be off
	begunFor       = 15 * time.Minute
)

// ErrWrongCode says that a code is wrong, or was used before. It is an ErrWrong.
var ErrWrongCode = fmt.Errorf("the code is wrong: %w", ErrWrong)

// ErrWrongRecovery says that a recovery code is wrong, or was used before. It is an ErrWrongCode.
var ErrWrongRecovery = fmt.Errorf("of recovery: %w", ErrWrongCode)

// SecondStep asks for codes of an app beside the password. It is safe for concurrent use.
type SecondStep struct{ store FactorStore }

// NewSecondStep returns a SecondStep over a store.
func NewSecondStep(store FactorStore) *SecondStep { return &SecondStep{store} }

// SecondStepState is whether a person has a second step, and what is known of it.
type SecondStepState struct {
	On       bool
	Since    time.Time
	UsedAt   time.Time
	Recovery int // how many recovery codes are left
}

// State returns whether a person has a second step.
func (s *SecondStep) State(ctx context.Context, user int64) (v SecondStepState, err error) {
	f, err := s.codes(ctx, user, true)
	if errors.Is(err, library.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v = SecondStepState{On: true, Since: f.CreatedAt, UsedAt: f.UsedAt}
	v.Recovery, err = s.store.RecoveryLeft(ctx, user)
	return v, err
}

// codes returns the codes of a person, those that count or those that do not yet, for some minutes;
// library.ErrNotFound for none.
func (s *SecondStep) codes(ctx context.Context, user int64, confirmed bool) (Factor, error) {
	all, err := s.store.Factors(ctx, user)
	if err != nil {
		return Factor{}, err
	}
	for _, f := range all {
		if f.Kind == Codes && f.Confirmed == confirmed && (confirmed || time.Since(f.CreatedAt) < begunFor) {
			return f, nil
		}
	}
	return Factor{}, library.ErrNotFound
}

// Begin makes a key for an app, which counts after Confirm. The app shows the name of the installation, and the
// person's. It returns an InputError for a person without a password, and for one who has a second step already.
func (s *SecondStep) Begin(ctx context.Context, u User, installation string) (*otp.Key, error) {
	state, err := s.State(ctx, u.ID)
	switch {
	case err != nil:
		return nil, err
	case u.PasswordHash == "":
		return nil, InputError{words.New("factors.no_password")}
	case state.On:
		return nil, InputError{words.New("factors.on_already")}
	}
	// A colon separates the two names.
	name := func(text string) string { return strings.ReplaceAll(text, ":", " ") }
	key, err := totp.Generate(totp.GenerateOpts{Issuer: name(installation), AccountName: name(u.Name)})
	if err != nil {
		return nil, err
	}
	_, err = s.store.AddFactor(ctx, Factor{User: u.ID, Kind: Codes, Secret: []byte(key.URL())})
	return key, err
}

// Begun returns the key that Begin made, until it counts, for 15 minutes; library.ErrNotFound for none.
func (s *SecondStep) Begun(ctx context.Context, user int64) (*otp.Key, error) {
	f, err := s.codes(ctx, user, false)
	if err != nil {
		return nil, err
	}
	return otp.NewKeyFromURL(string(f.Secret))
}

// Confirm makes the codes of the key that Begin made count, if code is one of them, and returns the recovery codes,
// which nothing shows again. The error is ErrWrongCode, or library.ErrNotFound if nothing was begun within 15 minutes,
// or if it counts already.
func (s *SecondStep) Confirm(ctx context.Context, user int64, code string) (recovery []string, err error) {
	f, err := s.codes(ctx, user, false)
	if err != nil {
		return nil, err
	}
	step, err := stepOf(f, plainCode(code))
	if err != nil {
		return nil, err
	}
	recovery, hashes := newRecovery()
	return recovery, s.store.ConfirmCodes(ctx, user, f.ID, step, hashes)
}

// Shown is what somebody has shown beside the password.
type Shown struct {
	Recovery bool // a recovery code, which is used up
	Left     int  // how many of those are left then
}

// Check uses up a code of the app or a recovery code of a person. It returns ErrWrongCode, also for a code that was
// used before, and for a person without a second step.
func (s *SecondStep) Check(ctx context.Context, user int64, code string) (v Shown, err error) {
	f, err := s.codes(ctx, user, true)
	if errors.Is(err, library.ErrNotFound) {
		return v, ErrWrongCode
	}
	if err != nil {
		return v, err
	}
	code = plainCode(code)
	if len(code) > codeDigits {
		v.Recovery = true
		v.Left, err = s.store.UseRecovery(ctx, user, HashToken(code))
		if errors.Is(err, ErrWrong) {
			err = ErrWrongRecovery
		}
		return v, err
	}
	step, err := stepOf(f, code)
	if err != nil {
		return v, err
	}
	fresh, err := s.store.UseStep(ctx, f.ID, step)
	if err == nil && !fresh {
		err = ErrWrongCode
	}
	return v, err
}

// Renew makes new recovery codes in place of the earlier ones. The error is library.ErrNotFound for a person without a
// second step.
func (s *SecondStep) Renew(ctx context.Context, user int64) (recovery []string, err error) {
	if _, err := s.codes(ctx, user, true); err != nil {
		return nil, err
	}
	recovery, hashes := newRecovery()
	return recovery, s.store.SetRecovery(ctx, user, hashes)
}

// TurnOff removes the second step of a person, and reports whether there was one.
func (s *SecondStep) TurnOff(ctx context.Context, user int64) (was bool, err error) {
	return s.store.RemoveCodes(ctx, user)
}

// stepOf returns the step whose code it is, or ErrWrongCode.
func stepOf(f Factor, code string) (int64, error) {
	key, err := otp.NewKeyFromURL(string(f.Secret))
	if err != nil {
		return 0, fmt.Errorf("read the key of codes: %w", err)
	}
	now := time.Now()
	for off := -stepsAround; off <= stepsAround; off++ {
		at := now.Add(time.Duration(off) * stepLength)
		want, err := totp.GenerateCode(key.Secret(), at)
		if err != nil {
			return 0, fmt.Errorf("make a code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return at.Unix() / int64(stepLength/time.Second), nil
		}
	}
	return 0, ErrWrongCode
}

// plainCode returns a code without what people and apps put in between.
func plainCode(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "\u00a0", "", "\u202f", "").Replace(code))
}

func newRecovery() (codes, hashes []string) {
	for range recoveryCodes {
		plain := rand.Text()[:recoveryLength]
		var groups []string
		for i := 0; i < recoveryLength; i += recoveryGroup {
			groups = append(groups, strings.ToLower(plain[i:i+recoveryGroup]))
		}
		codes, hashes = append(codes, strings.Join(groups, "-")), append(hashes, HashToken(plain))
	}
	return codes, hashes
}
