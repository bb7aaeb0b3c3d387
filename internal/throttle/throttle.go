// Package throttle bounds how often something may be tried, by an address or at an account.
package throttle

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Buckets is the number of buckets of a limit. Those of a Throttle take 64 KiB.
const Buckets = 8192

// Rate says how often a key may be tried: Burst times at once, and then once in every Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// Throttle bounds how often something may be tried, for example by one address or at one account. Make it with
// New. It is safe for concurrent use.
//
// It keeps its memory whatever the number of keys: each key has one of a fixed number of buckets, which a hash with a
// random seed chooses. Two keys may therefore share a bucket, with a chance of one in 8,192 that nobody outside can
// influence. Time is measured by the monotonic clock, so that setting the machine's clock changes nothing.
type Throttle struct {
	rate  Rate
	seed  maphash.Seed
	start time.Time

	mu   sync.Mutex
	full [Buckets]time.Duration // when each bucket will have forgotten all its tries, counted from start
}

// New returns a Throttle without tries. The burst is at least 1.
func New(r Rate) *Throttle {
	return &Throttle{rate: r, seed: maphash.MakeSeed(), start: time.Now()}
}

// Take counts a try of key and returns 0. If there were too many, it counts nothing and returns for how long the key
// has to wait.
func (t *Throttle) Take(key string) time.Duration { return t.TakeMany(key, 1) }

// TakeMany is Take for a try that counts as n. It may exceed the burst, and the next one waits for that.
func (t *Throttle) TakeMany(key string, n int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.waitLocked(key)
	if wait == 0 {
		*t.bucketLocked(key) += time.Duration(n) * t.rate.Every
	}
	return wait
}

// Wait returns for how long key has to wait before its next try. It counts nothing.
func (t *Throttle) Wait(key string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waitLocked(key)
}

// Left returns how many tries key has left at once. It counts nothing.
func (t *Throttle) Left(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	used := *t.bucketLocked(key) - time.Since(t.start)
	return max(0, t.rate.Burst-int((max(used, 0)+t.rate.Every-1)/t.rate.Every))
}

// GiveBack takes back a try that Take has counted.
func (t *Throttle) GiveBack(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.bucketLocked(key) -= t.rate.Every
}

func (t *Throttle) waitLocked(key string) time.Duration {
	return max(0, *t.bucketLocked(key)-time.Since(t.start)-time.Duration(t.rate.Burst-1)*t.rate.Every)
}

// bucketLocked returns the bucket of key, which is never in the past.
func (t *Throttle) bucketLocked(key string) *time.Duration {
	b := &t.full[maphash.String(t.seed, key)%Buckets]
	*b = max(*b, time.Since(t.start))
	return b
}

// Networks returns what an address belongs to. near is what one customer of a provider has: an IPv4 address, or the
// /64 of an IPv6 address. far is what one attacker can easily rent: the /24 or the /48 around it. What is no IP address
// is returned unchanged.
func Networks(address string) (near, far string) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address, address
	}
	ip = ip.Unmap().WithZone("")
	narrow, wide := 64, 48
	if ip.Is4() {
		narrow, wide = 32, 24
	}
	return netip.PrefixFrom(ip, narrow).Masked().String(), netip.PrefixFrom(ip, wide).Masked().String()
}
