package sync

import (
	"container/heap"
	"time"

	"reprise/internal/library"
)

// Key names one stream of one connection.
type Key struct {
	User       int64
	Connection library.ConnectionID
	Stream     string
}

// queue holds what is to be run, and when. It is guarded by the lock of the Syncer.
type queue struct {
	due   dueHeap
	at    map[Key]*entry
	ready []Key         // due now, in order
	busy  map[int64]int // runs under way per user
	total int           // runs under way
}

type entry struct {
	key   Key
	at    time.Time
	index int // in the heap; -1 when it is not there
}

func newQueue() *queue { return &queue{at: map[Key]*entry{}, busy: map[int64]int{}} }

// add makes k due at that time, or earlier if it already was.
func (q *queue) add(k Key, at time.Time) {
	e, ok := q.at[k]
	if !ok {
		e = &entry{key: k, at: at}
		q.at[k] = e
		heap.Push(&q.due, e)
		return
	}
	if e.index >= 0 && at.Before(e.at) {
		e.at = at
		heap.Fix(&q.due, e.index)
	}
}

// wake moves what has become due into the ready list, and returns when the next key will be due; zero for never.
func (q *queue) wake(now time.Time) time.Time {
	for len(q.due) > 0 && !q.due[0].at.After(now) {
		e := heap.Pop(&q.due).(*entry)
		q.ready = append(q.ready, e.key)
	}
	if len(q.due) == 0 {
		return time.Time{}
	}
	return q.due[0].at
}

// take returns the next run to start if at most workers may be under way: that of the user with the fewest, the first
// of equals. A user who has a run under way does not get the last worker, so that one user's hanging upstreams never
// keep the others waiting.
func (q *queue) take(workers int, running func(Key) bool) (Key, bool) {
	if q.total >= workers {
		return Key{}, false
	}
	best := -1
	for i, k := range q.ready {
		if running(k) || q.total == workers-1 && q.total > 0 && q.busy[k.User] > 0 {
			continue
		}
		if best < 0 || q.busy[k.User] < q.busy[q.ready[best].User] {
			best = i
		}
		if q.busy[k.User] == 0 {
			break
		}
	}
	if best < 0 {
		return Key{}, false
	}
	k := q.ready[best]
	q.ready = append(q.ready[:best], q.ready[best+1:]...)
	delete(q.at, k)
	q.busy[k.User]++
	q.total++
	return k, true
}

// done returns a worker.
func (q *queue) done(k Key) {
	q.total--
	if q.busy[k.User]--; q.busy[k.User] == 0 {
		delete(q.busy, k.User)
	}
}

// drop forgets k.
func (q *queue) drop(k Key) {
	e, ok := q.at[k]
	if !ok {
		return
	}
	delete(q.at, k)
	if e.index >= 0 {
		heap.Remove(&q.due, e.index)
		return
	}
	for i, r := range q.ready {
		if r == k {
			q.ready = append(q.ready[:i], q.ready[i+1:]...)
			return
		}
	}
}

// dueHeap orders entries by time; it implements heap.Interface.
type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
