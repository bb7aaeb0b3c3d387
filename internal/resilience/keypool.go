package resilience

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"
)

// PoolKey is an API key of the installation, as it is configured.
type PoolKey struct {
	Secret Secret
	// Project names what the key shares its limits with: keys of the same project cool together. Empty if it shares
	// them with none.
	Project string
}

// LastFour returns all of a key that may be shown anywhere; nothing of a key so short that this would reveal it.
func (k PoolKey) LastFour() string {
	if len(k.Secret) < 8 {
		return "????"
	}
	return string(k.Secret[len(k.Secret)-4:])
}

// KeyPool leases the keys of one provider, the one with the fewest recent failures first. Keys that are spent,
// limited or refused are not leased. It learns from verdicts only. Safe for concurrent use.
type KeyPool struct {
	provider string
	pace     *Backoff // for limits that name no wait; only its formula is used

	mu   sync.Mutex
	keys []pooled
	turn int // where the search for the next key begins, so that equals take turns
}

type pooled struct {
	PoolKey
	failures int       // recent ones: a success takes one off
	failedAt time.Time // the latest
	limits   int       // rate limits in a row
	until    time.Time // it cools until then
	category Category  // why it cools, or left
	invalid  bool      // it has left the pool
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

// NewKeyPool returns a pool of these keys. opt shapes the wait after a rate limit that names none.
func NewKeyPool(provider string, keys []PoolKey, opt Options) *KeyPool {
	p := &KeyPool{provider: provider, pace: NewBackoff(opt), keys: make([]pooled, len(keys))}
	for i, k := range keys {
		p.keys[i].PoolKey = k
	}
	return p
}

// Configure changes the wait after a rate limit that names none.
func (p *KeyPool) Configure(opt Options) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace = NewBackoff(opt)
}

// Size returns how many keys the pool was made of; 0 for a nil pool.
func (p *KeyPool) Size() int {
	if p == nil {
		return 0
	}
	return len(p.keys)
}

// lease is the right to make one request with a key. It takes exactly one outcome; the zero lease takes none.
type lease struct {
	pool  *KeyPool
	index int
	key   PoolKey
}

// Key returns the leased key.
func (l *lease) Key() PoolKey { return l.key }

// acquire leases the key with the fewest recent failures among those that are not cooling. Without one it returns
// until when, and why, no key may be used.
func (p *KeyPool) acquire() (lease, Shortage, bool) {
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
	return lease{pool: p, index: best, key: p.keys[best].PoolKey}, Shortage{}, true
}

// Short reports whether no key can be used now, and why. A nil pool is never short.
func (p *KeyPool) Short() (Shortage, bool) {
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
	Keys     int       // in the whole pool
	Category Category  // of the key that comes back first; of one that left, when none comes back
	Until    time.Time // when that is; zero when none comes back by itself
}

// shortageLocked is about the key that comes back first.
func (p *KeyPool) shortageLocked() Shortage {
	s := Shortage{Keys: len(p.keys), Category: Config}
	for i := range p.keys {
		k := &p.keys[i]
		switch {
		case k.invalid && s.Until.IsZero():
			s.Category = k.category
		case !k.invalid && (s.Until.IsZero() || k.until.Before(s.Until)):
			s.Until, s.Category = k.until, k.category
		}
	}
	s.Until = byClock(s.Until, time.Now())
	return s
}

// Cooldown is a key's wait as it is stored: it names the key by a fingerprint, never by itself.
type Cooldown struct {
	Provider string
	Key      string // SHA-256 of the key, hexadecimal
	LastFour string // only of one that has just begun
	Category Category
	Until    time.Time // zero: the key has left the pool, until a person takes it back
}

// done ends the lease with the verdict on its request, and returns the waits that begin or become longer with it.
// Only the first call counts. A failure that is not the fault of the key changes nothing.
func (l *lease) done(v Verdict) []Cooldown {
	p := l.pool
	if p == nil {
		return nil
	}
	l.pool = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &p.keys[l.index]
	switch {
	case v.Class == OK:
		k.failures, k.limits = max(k.failures-1, 0), 0
	case !ofKey(v):
	case v.Class == Fatal:
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
func ofKey(v Verdict) bool {
	return v.Scope == ScopeKey || v.Class == Fatal && v.Category == Auth
}

// coolLocked makes a key cool, with all that share its project. A later wait never shortens an earlier one.
func (p *KeyPool) coolLocked(k *pooled, v Verdict) (begun []Cooldown) {
	now := time.Now()
	if !k.until.After(now) { // else the request was under way when another one failed
		k.failed(now)
		k.limits++
	} else if v.NotBefore.IsZero() {
		return nil
	}
	until := v.notBefore(k.limits, now)
	if !until.After(now) {
		wait, _ := p.pace.delay(k.limits, v.FirstDelay)
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

func (p *KeyPool) cooldown(k *pooled, until time.Time) Cooldown {
	return Cooldown{Provider: p.provider, Key: fingerprint(k.Secret), LastFour: k.LastFour(), Category: k.category,
		Until: until}
}

// Restore restores waits after a restart. Those of other providers or of keys that are gone, and those that have
// ended, are ignored.
func (p *KeyPool) Restore(waits []Cooldown) {
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
func (p *KeyPool) Readmit() {
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
func (p *KeyPool) Reset(lastFour string) (before KeyStatus, which []Cooldown) {
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
		*k = pooled{PoolKey: k.PoolKey}
	}
	return before, which
}

// KeyStatus describes a key.
type KeyStatus struct {
	LastFour string
	Project  string
	Invalid  bool      // it has left the pool
	Category Category  // why it left or cools; None for a key that is ready
	Until    time.Time // it cools until then; zero for one that does not
	Failures int       // recent ones
}

// The states of a key.
const (
	KeyReady   = "ready"
	KeyCooling = "cooling" // not leased for a while
	KeyRefused = "refused" // the provider has refused it, and it has left the pool
)

// KeyStates are the states of keys.
var KeyStates = []string{KeyReady, KeyCooling, KeyRefused}

// State is one of KeyStates.
func (s KeyStatus) State() string {
	switch {
	case s.Invalid:
		return KeyRefused
	case !s.Until.IsZero():
		return KeyCooling
	}
	return KeyReady
}

// Keys returns the status of every key, in the order of the settings. A nil pool has none.
func (p *KeyPool) Keys() []KeyStatus {
	if p == nil {
		return nil
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]KeyStatus, len(p.keys))
	for i := range p.keys {
		all[i] = p.keys[i].status(now)
	}
	return all
}

func (k *pooled) status(now time.Time) KeyStatus {
	s := KeyStatus{LastFour: k.LastFour(), Project: k.Project, Invalid: k.invalid, Failures: k.recent(now)}
	if k.until.After(now) {
		s.Until = byClock(k.until, now)
	}
	if k.invalid || !s.Until.IsZero() {
		s.Category = k.category
	}
	return s
}

func fingerprint(s Secret) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
