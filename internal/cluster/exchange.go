package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// tellAgainAfter is how often a request is looked after, in case a note of it got lost.
	tellAgainAfter = time.Second
	// takeWithin is how long a server may take to notice a request. One that is there does so at once.
	takeWithin = 5 * time.Second
	// answersAtOnce is how many requests of others a server answers at once.
	answersAtOnce = 256
	// maxAnswer is the longest answer, in bytes. Downloads, which are longer, every server answers by itself.
	maxAnswer = 32 << 20
)

// What servers tell each other about requests.
const (
	aboutRequests = "requests" // the id of a server for which there are some
	aboutAnswer   = "answer"   // the id of a request that has been answered
)

var (
	// errNotTaken is the error of a request that no server has begun to answer.
	errNotTaken = errors.New("no server has taken the request")
	// errCutOff is the error of a request whose answer broke off.
	errCutOff = errors.New("the answer was cut off")
)

// Desk is where servers leave requests for each other in the database, and the answers. Texts are sealed.
type Desk interface {
	// LeaveRequest leaves a request with an id for a server.
	LeaveRequest(ctx context.Context, id, server string, request []byte) error
	// TakeRequests returns requests for a server that nobody has taken, by id, the earliest first, and takes them.
	TakeRequests(ctx context.Context, server string, most int) (map[string][]byte, error)
	// AnswerRequest leaves the answer to a request, unless it has been removed.
	AnswerRequest(ctx context.Context, id string, answer []byte) error
	// Answer returns the answer to a request and removes both; nil if there is none yet.
	Answer(ctx context.Context, id string) ([]byte, error)
	// Withdraw removes a request that nobody has taken, and reports whether it did.
	Withdraw(ctx context.Context, id string) (bool, error)
	// Forget removes a request whose answer nobody waits for.
	Forget(ctx context.Context, id string) error
}

// passed is a request as it is passed on.
type passed struct {
	Method, URI, Host, From string // From is the address from which it came to the server in front
	Header                  http.Header
	Body                    []byte
	Hops                    int // how often a request about an app has been passed on; 0 for one for the leader
}

// answered is the answer to it. Its status is 0 if the server does not lead, or has no such app.
type answered struct {
	Status int
	Header http.Header
	Body   []byte
	CutOff bool // the handler gave up
}

// exchange passes requests on to other servers by way of the database. Safe for concurrent use.
type exchange struct {
	me    string
	desk  Desk
	notes *Notes
	log   *slog.Logger

	mu      sync.Mutex
	waiting map[string]chan struct{} // by id of a request; has a value when there may be an answer
}

func newExchange(me string, desk Desk, notes *Notes, log *slog.Logger) *exchange {
	return &exchange{me: me, desk: desk, notes: notes, log: log, waiting: map[string]chan struct{}{}}
}

// ask has a server answer a request until ctx ends. The error is an errNotTaken if that server knows nothing of it;
// after any other one it may have been done.
func (x *exchange) ask(ctx context.Context, server string, p passed) (a answered, err error) {
	request, err := encode(p)
	if err != nil {
		return answered{}, err
	}
	id := strings.ToLower(rand.Text())
	news := make(chan struct{}, 1)
	x.mu.Lock()
	x.waiting[id] = news
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		delete(x.waiting, id)
		x.mu.Unlock()
	}()
	if err := x.desk.LeaveRequest(ctx, id, server, request); err != nil {
		return answered{}, x.end(ctx, id, err)
	}
	x.notes.Tell(aboutRequests, server)
	again := time.NewTicker(tellAgainAfter)
	defer again.Stop()
	for asked := time.Now(); ; {
		select {
		case <-ctx.Done():
		case <-news:
		case <-again.C:
			if time.Since(asked) >= takeWithin {
				if gone, err := x.desk.Withdraw(ctx, id); err == nil && gone {
					return answered{}, errNotTaken
				}
			}
			x.notes.Tell(aboutRequests, server)
		}
		if a, there, err := x.collect(ctx, id); there {
			return a, err
		}
		if ctx.Err() != nil {
			return answered{}, x.end(ctx, id, ctx.Err())
		}
	}
}

// collect takes the answer to a request, if it is there. It goes on when ctx has ended: what it takes is the only copy.
func (x *exchange) collect(ctx context.Context, id string) (a answered, there bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	text, err := x.desk.Answer(ctx, id)
	if err != nil || text == nil { // the database may answer a second later
		return answered{}, false, nil
	}
	err = gob.NewDecoder(bytes.NewReader(text)).Decode(&a)
	switch {
	case err != nil:
		err = fmt.Errorf("read answer of another server: %w", err)
	case a.CutOff:
		err = errCutOff
	case a.Status == 0:
		err = errNotTaken
	}
	return a, true, err
}

// end removes a request for which nobody waits any more. It returns an errNotTaken if no server has taken it, and the
// error otherwise.
func (x *exchange) end(ctx context.Context, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	gone, failed := x.desk.Withdraw(ctx, id)
	if failed == nil && gone {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	if failed = errors.Join(failed, x.desk.Forget(ctx, id)); failed != nil {
		x.log.Debug("a request stays in the database for a while", "err", failed)
	}
	return err
}

// run answers what others ask, until ctx ends; what is under way then has endWithin more.
func (x *exchange) run(ctx context.Context, answer func(context.Context, passed) answered) {
	look := make(chan struct{}, 1)
	poke := func() {
		select {
		case look <- struct{}{}:
		default:
		}
	}
	defer x.notes.Hear(aboutRequests, func(data json.RawMessage) {
		if x.isAbout(data, x.me) {
			poke()
		}
	})()
	defer x.notes.Hear(aboutAnswer, x.hearAnswer)()
	defer x.notes.Missed(poke)()
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endWithin, cancel) })()
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, answersAtOnce)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
		}
		free := cap(room) - len(room)
		if free == 0 { // what nobody takes may be asked of another server
			continue
		}
		requests, err := x.take(ctx, free)
		if err != nil { // who asks tells again
			x.log.Warn("what another server asks has to wait", "err", err)
		}
		for id, text := range requests {
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room; poke() }()
				x.answer(within, id, text, answer)
			})
		}
	}
}

// take takes requests. It goes on when ctx has ended: nobody else may answer what it takes.
func (x *exchange) take(ctx context.Context, most int) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	return x.desk.TakeRequests(ctx, x.me, most)
}

// answer answers a request.
func (x *exchange) answer(ctx context.Context, id string, text []byte, answer func(context.Context, passed) answered) {
	var p passed
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&p); err != nil {
		x.log.Error("what another server has told can't be read", "err", err)
		return
	}
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said, err := encode(answer(asked, p))
	if err == nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
		defer cancel()
		err = x.desk.AnswerRequest(within, id, said)
	}
	if err != nil {
		x.log.Warn("another server gets no answer", "err", err)
		return
	}
	x.notes.Tell(aboutAnswer, id)
}

func (x *exchange) isAbout(data json.RawMessage, id string) bool {
	var about string
	return json.Unmarshal(data, &about) == nil && about == id
}

func (x *exchange) hearAnswer(data json.RawMessage) {
	var id string
	if json.Unmarshal(data, &id) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case x.waiting[id] <- struct{}{}: // nil, which takes nothing, for another server's
	default:
	}
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// recorder keeps an answer to pass it on.
type recorder struct {
	answered
	header  http.Header
	tooLong bool
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.Status == 0 && status >= http.StatusOK {
		w.Status, w.answered.Header = status, w.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(w.Body)+len(b) > maxAnswer {
		w.tooLong = true
		return 0, errCutOff
	}
	w.Body = append(w.Body, b...)
	return len(b), nil
}

// record returns what a handler answers.
func record(h http.Handler, r *http.Request) (a answered) {
	w := &recorder{header: http.Header{}}
	defer func() {
		if recover() != nil { // http.ErrAbortHandler; pages turn all others into answers
			a = answered{CutOff: true}
		}
	}()
	h.ServeHTTP(w, r)
	w.WriteHeader(http.StatusOK)
	if w.tooLong { // a defect, which trying again doesn't mend
		return answered{Status: http.StatusInternalServerError,
			Body:   []byte("This answer is too long to be passed on.\n"),
			Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}
	}
	return w.answered
}
