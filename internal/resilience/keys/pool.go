// Package keys lets a provider's adapter use several API keys of the installation as if there were one: a [Transport]
// tries the keys of a [Pool] one after the other.
package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Key is an API key of the installation, as it is configured.
type Key struct {
	Secret resilience.Secret
	// Project names what the key shares its limits with: keys of the same project cool together. Empty if it shares
	// them with none.
	Project string
}

// LastFour returns all of a key that may be shown anywhere; nothing of a key so short that this would reveal it.
func (k Key) LastFour() string {
	if len(k.Secret) < 8 {
		return "????"
	}
	return string(k.Secret[len(k.Secret)-4:])
}

// Pool leases the keys of one provider, the one with the fewest recent failures first. Keys that are spent,
// limited or refused are not leased. It learns from verdicts only. Safe for concurrent use.
type Pool struct {
	provider string
	pace     backoff.Options // of the waits after limits that name none

	mu   sync.Mutex
	keys []pooled
	turn int // where the search for the next key begins, so that equals take turns
}

type pooled struct {
	Key
	failures int                 // recent ones: a success takes one off
	failedAt time.Time           // the latest
	limits   int                 // rate limits in a row
	until    time.Time           // it cools until then
	category resilience.Category // why it cools, or left
	invalid  bool                // it has left the pool
}

// failureLife is how long a failure counts against a key. Without an end, a key that failed once would not be chosen
// again while others have not failed, and could not recover.
const failureLife = 24 * time.Hour

func (k *pooled) recent(now time.Time) int {
	if now.Sub(k.failedAt) >= failureLife {
		return 0
	}
	return k.failures
}

func (k *pooled) failed(now time.Time) { k.failures, k.failedAt = k.recent(now)+1, now }

// New returns a pool of these keys. opt shapes the wait after a rate limit that names none.
func New(provider string, keys []Key, opt backoff.Options) *Pool {
	p := &Pool{provider: provider, pace: opt, keys: make([]pooled, len(keys))}
	for i, k := range keys {
		p.keys[i].Key = k
	}
	return p
}

// Configure changes the wait after a rate limit that names none.
func (p *Pool) Configure(opt backoff.Options) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace = opt
}

// Size returns how many keys the pool was made of; 0 for a nil pool.
func (p *Pool) Size() int {
	if p == nil {
		return 0
	}
	return len(p.keys)
}

// lease is the right to make one request with a key. It takes exactly one outcome; the zero lease takes none.
type lease struct {
	pool  *Pool
	index int
	key   Key
}

// Key returns the leased key.
func (l *lease) Key() Key { return l.key }

// acquire leases the key with the fewest recent failures among those that are not cooling. Without one it returns
// until when, and why, no key may be used.
func (p *Pool) acquire() (lease, Shortage, bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for n := range p.keys {
		i := (p.turn + n) % len(p.keys)
		k := &p.keys[i]
		ready := !k.invalid && !k.until.After(now)
		if ready && (best < 0 || k.recent(now) < p.keys[best].recent(now)) {
			best = i
		}
	}
	if best < 0 {
		return lease{}, p.shortageLocked(), false
	}
	p.turn = best + 1
	return lease{pool: p, index: best, key: p.keys[best].Key}, Shortage{}, true
}

// Short reports whether no key can be used now, and why. A nil pool is never short.
func (p *Pool) Short() (Shortage, bool) {
	if p == nil {
		return Shortage{}, false
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.keys, func(k pooled) bool { return !k.invalid && !k.until.After(now) }) {
		return Shortage{}, false
	}
	return p.shortageLocked(), true
}

// Shortage says why a pool has no key to lease.
type Shortage struct {
	Keys     int                 // in the whole pool
	Category resilience.Category // of the key that comes back first; of one that left, when none comes back
	Until    time.Time           // when that is; zero when none comes back by itself
}

// shortageLocked is about the key that comes back first.
func (p *Pool) shortageLocked() Shortage {
	s := Shortage{Keys: len(p.keys), Category: resilience.Config}
	for i := range p.keys {
		k := &p.keys[i]
		switch {
		case k.invalid && s.Until.IsZero():
			s.Category = k.category
		case !k.invalid && (s.Until.IsZero() || k.until.Before(s.Until)):
			s.Until, s.Category = k.until, k.category
		}
	}
	s.Until = resilience.ByClock(s.Until, time.Now())
	return s
}

// Cooldown is a key's wait as it is stored: it names the key by a fingerprint, never by itself.
type Cooldown struct {
	Provider string
	Key      string // SHA-256 of the key, hexadecimal
	LastFour string // only of one that has just begun
	Category resilience.Category
	Until    time.Time // zero: the key has left the pool, until a person takes it back
}

// done ends the lease with the verdict on its request, and returns the waits that begin or become longer with it.
// Only the first call counts. A failure that is not the fault of the key changes nothing.
func (l *lease) done(v resilience.Verdict) []Cooldown {
	p := l.pool
	if p == nil {
		return nil
	}
	l.pool = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &p.keys[l.index]
	switch {
	case v.Class == resilience.OK:
		k.failures, k.limits = max(k.failures-1, 0), 0
	case !ofKey(v):
	case v.Class == resilience.Fatal:
		k.failed(time.Now())
		again := k.invalid // by a request that was under way with it
		k.invalid, k.category = true, v.Category
		if !again {
			return []Cooldown{p.cooldown(k, time.Time{})}
		}
	default:
		return p.coolLocked(k, v)
	}
	return nil
}

// ofKey reports whether a failure is the fault of the key that the request carried. Every refusal of the credential
// is, since the request carried no other.
func ofKey(v resilience.Verdict) bool {
	return v.Scope == resilience.ScopeKey || v.Class == resilience.Fatal && v.Category == resilience.Auth
}

// coolLocked makes a key cool, with all that share its project. A later wait never shortens an earlier one.
func (p *Pool) coolLocked(k *pooled, v resilience.Verdict) (begun []Cooldown) {
	now := time.Now()
	if !k.until.After(now) { // else the request was under way when another one failed
		k.failed(now)
		k.limits++
	} else if v.NotBefore.IsZero() {
		return nil
	}
	until := v.EndOfWait(k.limits, now)
	if !until.After(now) {
		wait, _ := p.pace.Delay(k.limits, v.FirstDelay)
		until = now.Add(wait)
	}
	for i := range p.keys {
		o := &p.keys[i]
		if o != k && (k.Project == "" || o.Project != k.Project) || !until.After(o.until) {
			continue
		}
		o.until, o.category = until, v.Category
		if !o.invalid {
			begun = append(begun, p.cooldown(o, until))
		}
	}
	return begun
}

func (p *Pool) cooldown(k *pooled, until time.Time) Cooldown {
	return Cooldown{Provider: p.provider, Key: fingerprint(k.Secret), LastFour: k.LastFour(), Category: k.category,
		Until: until}
}

// Restore restores waits after a restart. Those of other providers or of keys that are gone, and those that have
// ended, are ignored.
func (p *Pool) Restore(waits []Cooldown) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range waits {
		for i := range p.keys {
			k := &p.keys[i]
			switch {
			case w.Provider != p.provider || w.Key != fingerprint(k.Secret):
			case w.Until.IsZero():
				k.invalid, k.category = true, w.Category
			case w.Until.After(now) && w.Until.After(k.until):
				k.until, k.category = w.Until, w.Category
			}
		}
	}
}

// Readmit takes back the keys that were refused, because a person believes that their fault has been repaired. Keys
// that cool go on cooling.
func (p *Pool) Readmit() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.keys {
		p.keys[i].invalid = false
	}
}

// Reset forgets everything about the keys that end in these characters, because a person wants them tried at once. It
// returns the worst of their states, and which keys they are, so that their stored waits can be deleted. A nil pool
// has none.
func (p *Pool) Reset(lastFour string) (before Status, which []Cooldown) {
	if p == nil {
		return before, nil
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.keys {
		k := &p.keys[i]
		if k.LastFour() != lastFour {
			continue
		}
		if st := k.status(now); which == nil || st.Invalid || !before.Invalid && st.Until.After(before.Until) {
			before = st
		}
		which = append(which, p.cooldown(k, time.Time{}))
		*k = pooled{Key: k.Key}
	}
	return before, which
}

// Status describes a key.
type Status struct {
	LastFour string
	Project  string
	Invalid  bool                // it has left the pool
	Category resilience.Category // why it left or cools; None for a key that is ready
	Until    time.Time           // it cools until then; zero for one that does not
	Failures int                 // recent ones
}

// The states of a key.
const (
	Ready   = "ready"
	Cooling = "cooling" // not leased for a while
	Refused = "refused" // the provider has refused it, and it has left the pool
)

// States are the states of keys.
var States = []string{Ready, Cooling, Refused}

// State is one of States.
func (s Status) State() string {
	switch {
	case s.Invalid:
		return Refused
	case !s.Until.IsZero():
		return Cooling
	}
	return Ready
}

// Keys returns the status of every key, in the order of the settings. A nil pool has none.
func (p *Pool) Keys() []Status {
	if p == nil {
		return nil
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Status, len(p.keys))
	for i := range p.keys {
		all[i] = p.keys[i].status(now)
	}
	return all
}

func (k *pooled) status(now time.Time) Status {
	s := Status{LastFour: k.LastFour(), Project: k.Project, Invalid: k.invalid, Failures: k.recent(now)}
	if k.until.After(now) {
		s.Until = resilience.ByClock(k.until, now)
	}
	if k.invalid || !s.Until.IsZero() {
		s.Category = k.category
	}
	return s
}

func fingerprint(s resilience.Secret) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
