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

// queue holds what is to be run, and when. Every method takes O(log n) steps. It is guarded by the lock of the Syncer.
type queue struct {
	due     order[*entry] // by time
	at      map[Key]*entry
	people  map[int64]*person // who have something ready or a run under way
	turns   order[*person]    // those who have something ready: the one who is next comes first
	running map[Key]*entry    // runs under way, and what of the same key has become ready meanwhile; nil for nothing
	woken   int               // counts what has become ready
}

type entry struct {
	key   Key
	at    time.Time
	turn  int  // its place among what is ready; 0 while it is not due
	asked bool // a person waits for it
	index int  // in a heap; -1 when it is in none
}

func (e *entry) Before(o *entry) bool {
	if e.turn > 0 && e.asked != o.asked {
		return e.asked
	}
	if e.turn != o.turn {
		return e.turn < o.turn
	}
	return e.at.Before(o.at)
}

func (e *entry) Place(i int) { e.index = i }

// person is what one user has in the queue.
type person struct {
	ready order[*entry] // by turn, without what waits for its own run to end
	busy  int           // runs under way
	index int           // in turns; -1 when nothing is ready
}

// Before orders people by how many runs they have, and then by how long they have been waiting.
func (p *person) Before(o *person) bool {
	if p.busy != o.busy {
		return p.busy < o.busy
	}
	return p.ready[0].Before(o.ready[0])
}

func (p *person) Place(i int) { p.index = i }

func newQueue() *queue {
	return &queue{at: map[Key]*entry{}, people: map[int64]*person{}, running: map[Key]*entry{}}
}

// add makes k due at that time, or earlier if it already was.
func (q *queue) add(k Key, at time.Time) {
	e, ok := q.at[k]
	if !ok {
		e = &entry{key: k, at: at}
		q.at[k] = e
		heap.Push(&q.due, e)
		return
	}
	if e.turn == 0 && at.Before(e.at) {
		e.at = at
		heap.Fix(&q.due, e.index)
	}
}

// first moves k, which is in the queue, before the entries that no person waits for.
func (q *queue) first(k Key) {
	e := q.at[k]
	e.asked = true
	if e.turn > 0 && e.index >= 0 {
		p := q.people[k.User]
		heap.Fix(&p.ready, e.index)
		q.settle(k.User, p)
	}
}

// wake makes ready what has become due, and returns when the next key will be due; zero for never.
func (q *queue) wake(now time.Time) time.Time {
	for len(q.due) > 0 && !q.due[0].at.After(now) {
		e := heap.Pop(&q.due).(*entry)
		q.woken++
		e.turn = q.woken
		if _, runs := q.running[e.key]; runs {
			q.running[e.key] = e
		} else {
			q.line(e)
		}
	}
	if len(q.due) == 0 {
		return time.Time{}
	}
	return q.due[0].at
}

// line puts what is ready in its place.
func (q *queue) line(e *entry) {
	p := q.people[e.key.User]
	if p == nil {
		p = &person{index: -1}
		q.people[e.key.User] = p
	}
	heap.Push(&p.ready, e)
	q.settle(e.key.User, p)
}

// settle puts a person in their place after a change, and forgets them when they have nothing here.
func (q *queue) settle(user int64, p *person) {
	switch {
	case len(p.ready) > 0 && p.index < 0:
		heap.Push(&q.turns, p)
	case len(p.ready) > 0:
		heap.Fix(&q.turns, p.index)
	case p.index >= 0:
		heap.Remove(&q.turns, p.index) // which does not compare it
	}
	if len(p.ready) == 0 && p.busy == 0 {
		delete(q.people, user)
	}
}

// take returns the next run to start if at most workers may be under way: that of the user with the fewest, the first
// of equals. A user who has a run under way does not get the last worker, so that one user's hanging upstreams never
// keep the others waiting. There is at most one run of a key; done ends it.
func (q *queue) take(workers int) (Key, bool) {
	total := len(q.running)
	if total >= workers || len(q.turns) == 0 {
		return Key{}, false
	}
	p := q.turns[0]
	if total == workers-1 && total > 0 && p.busy > 0 {
		return Key{}, false
	}
	e := heap.Pop(&p.ready).(*entry)
	p.busy++
	q.settle(e.key.User, p)
	delete(q.at, e.key)
	q.running[e.key] = nil
	return e.key, true
}

// done ends the run of k.
func (q *queue) done(k Key) {
	again := q.running[k]
	delete(q.running, k)
	p := q.people[k.User]
	p.busy--
	q.settle(k.User, p)
	if again != nil {
		q.line(again)
	}
}

// drop forgets k, but not the run of it that is under way.
func (q *queue) drop(k Key) {
	e, ok := q.at[k]
	if !ok {
		return
	}
	delete(q.at, k)
	switch {
	case e.turn == 0:
		heap.Remove(&q.due, e.index)
	case q.running[k] == e:
		q.running[k] = nil
	default:
		p := q.people[k.User]
		heap.Remove(&p.ready, e.index)
		q.settle(k.User, p)
	}
}

// order is a heap whose members know their places; it implements heap.Interface.
type order[E interface {
	Before(E) bool
	Place(int)
}] []E

func (h order[E]) Len() int           { return len(h) }
func (h order[E]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h order[E]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].Place(i)
	h[j].Place(j)
}

// Push implements heap.Interface.
func (h *order[E]) Push(x any) {
	e := x.(E)
	e.Place(len(*h))
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *order[E]) Pop() any {
	old := *h
	last := len(old) - 1
	e := old[last]
	var none E
	old[last] = none // for the garbage collector
	*h = old[:last]
	e.Place(-1)
	return e
}
