package sync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// plainQueue states what the queue does without its heaps: it looks at everything each time.
type plainQueue struct {
	due     []*plainEntry // as added
	ready   []Key         // as they became due
	running []Key
	asked   []Key // which nothing overtakes that is not among them
}

type plainEntry struct {
	key Key
	at  int
}

func (q *plainQueue) find(k Key) (*plainEntry, bool) {
	i := slices.IndexFunc(q.due, func(e *plainEntry) bool { return e.key == k })
	if i < 0 {
		return nil, slices.Contains(q.ready, k)
	}
	return q.due[i], true
}

func (q *plainQueue) add(k Key, at int) {
	e, known := q.find(k)
	switch {
	case !known:
		q.due = append(q.due, &plainEntry{k, at})
	case e != nil:
		e.at = min(e.at, at)
	}
}

func (q *plainQueue) wake(now int) (next int) {
	slices.SortStableFunc(q.due, func(a, b *plainEntry) int { return a.at - b.at })
	for len(q.due) > 0 && q.due[0].at <= now {
		q.ready, q.due = append(q.ready, q.due[0].key), q.due[1:]
	}
	if len(q.due) == 0 {
		return -1
	}
	return q.due[0].at
}

func (q *plainQueue) busy(user int64) (n int) {
	for _, k := range q.running {
		if k.User == user {
			n++
		}
	}
	return n
}

// rank is lower for who is next.
func (q *plainQueue) rank(k Key) int {
	if slices.Contains(q.asked, k) {
		return 2 * q.busy(k.User)
	}
	return 2*q.busy(k.User) + 1
}

func (q *plainQueue) take(workers int) (Key, bool) {
	total, best := len(q.running), -1
	if total >= workers {
		return Key{}, false
	}
	for i, k := range q.ready {
		if slices.Contains(q.running, k) || total == workers-1 && total > 0 && q.busy(k.User) > 0 {
			continue
		}
		if best < 0 || q.rank(k) < q.rank(q.ready[best]) {
			best = i
		}
	}
	if best < 0 {
		return Key{}, false
	}
	k := q.ready[best]
	q.ready = slices.Delete(q.ready, best, best+1)
	q.running = append(q.running, k)
	q.asked = slices.DeleteFunc(q.asked, func(a Key) bool { return a == k })
	return k, true
}

func (q *plainQueue) drop(k Key) {
	q.due = slices.DeleteFunc(q.due, func(e *plainEntry) bool { return e.key == k })
	q.ready = slices.DeleteFunc(q.ready, func(r Key) bool { return r == k })
	q.asked = slices.DeleteFunc(q.asked, func(r Key) bool { return r == k })
}

func TestQueueTakesTurnsLikeAPlainOne(t *testing.T) {
	begin := time.Now()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		q, plain := newQueue(), &plainQueue{}
		workers, now, at := 1+r.IntN(5), 0, 0
		for step := range 400 {
			k := Key{int64(r.IntN(4)), library.ConnectionID(fmt.Sprint("c", r.IntN(3))), "listens"}
			said := fmt.Sprintf("seed %d, step %d", seed, step)
			switch r.IntN(9) {
			case 0, 1, 2: // no two are due at the same instant, whose order says nothing
				at++
				when := at + 1000*(now+r.IntN(3))
				q.add(k, begin.Add(time.Duration(when)))
				plain.add(k, when)
			case 3:
				now++
				next, plainNext := q.wake(begin.Add(time.Duration(1000*now))), plain.wake(1000*now)
				require.Equal(t, plainNext < 0, next.IsZero(), said)
				if plainNext >= 0 {
					require.Equal(t, begin.Add(time.Duration(plainNext)), next, said)
				}
			case 4, 5:
				got, ok := q.take(workers)
				want, some := plain.take(workers)
				require.Equal(t, some, ok, said)
				require.Equal(t, want, got, said)
			case 6:
				if n := len(plain.running); n > 0 {
					i := r.IntN(n)
					q.done(plain.running[i])
					plain.running = slices.Delete(plain.running, i, i+1)
				}
			case 8:
				if _, known := plain.find(k); known {
					q.first(k)
					plain.asked = append(plain.asked, k)
				}
			case 7:
				q.drop(k)
				plain.drop(k)
			}
			require.Len(t, q.at, len(plain.due)+len(plain.ready), said)
		}
	}
}

// BenchmarkQueue takes the turns of a tick of 10,000 connections, two a person. It should be under 20 ms.
func BenchmarkQueue(b *testing.B) {
	for b.Loop() {
		q, now := newQueue(), time.Now()
		for n := range 10_000 {
			q.add(Key{int64(n / 2), library.ConnectionID([]string{"lastfm", "spotify"}[n%2]), "listens"}, now)
		}
		q.wake(now)
		var under []Key
		for served := 0; served < 10_000; {
			k, ok := q.take(8)
			if !ok {
				q.done(under[0])
				under = under[1:]
				continue
			}
			under = append(under, k)
			served++
		}
	}
}
