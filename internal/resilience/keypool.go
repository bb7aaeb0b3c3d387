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
	// Project is whose limits the key shares: keys of the same project cool together. Empty when it shares with none.
	Project string
}

// LastFour is all of a key that may be shown anywhere; nothing of one that is so short that they would tell it.
func (k PoolKey) LastFour() string {
	if len(k.Secret) < 8 {
		return "????"
	}
	return string(k.Secret[len(k.Secret)-4:])
}

// KeyPool hands out the keys of one provider, the one with the fewest recent failures first, and keeps those back that
// are spent, limited or refused. It learns from verdicts only. Safe for concurrent use.
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

// failureLife is how long a failure counts against a key: without an end, one that failed once would never be chosen
// again while others have not, and could not make up for it.
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

// Size is how many keys the pool was made of. Only a nil pool or one of no keys has size 0.
func (p *KeyPool) Size() int {
	if p == nil {
		return 0
	}
	return len(p.keys)
}

// Lease is the right to make one request with a key. It takes exactly one outcome; the zero Lease takes none.
type Lease struct {
	pool  *KeyPool
	index int
	key   PoolKey
}

// Key is the key that was leased.
func (l *Lease) Key() PoolKey { return l.key }

// Acquire leases the key with the fewest recent failures among those that are not cooling. Without one it says until
// when, and why, no key may be used; the time is zero when all have left the pool.
func (p *KeyPool) Acquire() (Lease, Shortage, bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for n := range p.keys {
		i := (p.turn + n) % len(p.keys)
		if k := &p.keys[i]; !k.invalid && !k.until.After(now) && (best < 0 || k.recent(now) < p.keys[best].recent(now)) {
			best = i
		}
	}
	if best < 0 {
		return Lease{}, p.shortageLocked(), false
	}
	p.turn = best + 1
	return Lease{pool: p, index: best, key: p.keys[best].PoolKey}, Shortage{}, true
}

// Short says whether no key can be used now, and why. A nil pool is never short.
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

// Done gives the lease back with what its request came to, and returns the waits that begin with it or become longer.
// Only the first call counts. A failure that is not the key's changes nothing.
func (l *Lease) Done(v Verdict) []Cooldown {
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

// ofKey says whether a failure is the fault of the key that the request carried. It carried no other credential, so
// that every refusal of the credential is.
func ofKey(v Verdict) bool {
	return v.Scope == ScopeKey || v.Class == Fatal && v.Category == Auth
}

// coolLocked lets a key cool with all that share its project. A wait is never shortened by a later one.
func (p *KeyPool) coolLocked(k *pooled, v Verdict) (begun []Cooldown) {
	now := time.Now()
	if !k.until.After(now) { // else the request was under way when the first of them failed, and is no further failure
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
	return Cooldown{Provider: p.provider, Key: fingerprint(k.Secret), LastFour: k.LastFour(), Category: k.category, Until: until}
}

// Restore puts waits back after a restart. Those of other providers, of keys that are gone, and those that have ended
// are left out.
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

// Readmit takes back the keys that have left, because a person believes that their fault has been mended. What cools
// goes on cooling.
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

// Reset makes the keys that end in these characters like new, because a person wants them tried at once. It returns how
// the worst of them stood, and which they are, so that their stored waits can be forgotten. A nil pool has none.
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

// KeyStatus is what may be shown of a key.
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
	KeyCooling = "cooling" // it is kept back for a while
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
		s.Until = k.until
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
