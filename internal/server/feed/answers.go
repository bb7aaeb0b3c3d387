package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"reprise/internal/events"
	"reprise/internal/words"
)

// shelf is how long an answer is good for. Watchers of the same person ask within a moment of each other; one that
// comes later, because its browser was slow, gets what is true by then.
const shelf = time.Second

// question is what a watcher asks, with everything that its answer depends on.
type question struct {
	user     int64
	language *words.Language
	zone     string
	about    events.Event // without its serial
}

// ask returns the beginning of the questions for the reader of a context.
func ask(ctx context.Context, user int64) question {
	q := question{user: user, language: words.From(ctx)}
	if zone := words.Zone(ctx); zone != nil {
		q.zone = zone.String()
	}
	return q
}

// on returns a question about an event.
func (q question) on(about events.Event) question {
	q.about = about
	q.about.Serial = 0
	return q
}

// need is how new an answer has to be.
type need struct {
	serial uint64    // of the last event that was published before it was begun, or of a later one
	begun  time.Time // it may not be older; zero: it may
}

// answer is made once for all who ask the same. Its result is there when done is closed.
type answer struct {
	need
	done   chan struct{}
	result any
	err    error
}

var errNoAnswer = errors.New("no answer was made")

// answers are shared by the watchers of each person. It is safe for concurrent use.
type answers struct {
	bus  *events.Bus
	mu   sync.Mutex
	made map[question]*answer // the newest to each
}

// find returns an answer to a question that is new enough, and whether the caller has to make it.
func (a *answers) find(q question, min need) (now *answer, mine bool) {
	upTo := need{a.bus.Serial(), time.Now()} // before anything is read
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.made[q]; now != nil && now.serial >= min.serial && !now.begun.Before(min.begun) {
		return now, false
	}
	now = &answer{need: upTo, done: make(chan struct{}), err: errNoAnswer}
	if a.made == nil {
		a.made = map[question]*answer{}
	}
	a.made[q] = now
	return now, true
}

func (a *answers) drop(q question, old *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made[q] == old {
		delete(a.made, q)
	}
}

// shared returns the answer to a question, which read makes unless there is one that is new enough. What it returns is
// shared and must not be changed.
func shared[T any](ctx context.Context, a *answers, q question, min need,
	read func(context.Context) (T, error)) (none T, _ error) {
	now, mine := a.find(q, min)
	if mine {
		fill(ctx, a, q, now, read)
	} else {
		<-now.done // a thousand streams wait here: a select would be felt
	}
	if now.err != nil {
		return none, now.err
	}
	return now.result.(T), nil
}

// fill makes an answer. It is apart from shared so that the many who only take one allocate nothing.
func fill[T any](ctx context.Context, a *answers, q question, now *answer, read func(context.Context) (T, error)) {
	defer func() {
		if now.err != nil {
			a.drop(q, now)
		} else {
			time.AfterFunc(shelf, func() { a.drop(q, now) })
		}
		close(now.done)
	}()
	result, err := read(context.WithoutCancel(ctx)) // others wait for it too
	now.result, now.err = result, err
}
