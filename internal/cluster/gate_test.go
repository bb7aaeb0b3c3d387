package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// desk is a Desk in memory.
type desk struct {
	mu   sync.Mutex
	down bool // does not answer
	rows map[string]*row
}

type row struct {
	server          string
	taken           bool
	request, answer []byte
}

// use calls f with the rows.
func (d *desk) use(f func(map[string]*row)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return errDown
	}
	if d.rows == nil {
		d.rows = map[string]*row{}
	}
	f(d.rows)
	return nil
}

func (d *desk) LeaveRequest(ctx context.Context, id, server string, request []byte) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.use(func(all map[string]*row) { all[id] = &row{server: server, request: request} })
}

func (d *desk) TakeRequests(_ context.Context, server string, most int) (map[string][]byte, error) {
	taken := map[string][]byte{}
	return taken, d.use(func(all map[string]*row) {
		for id, r := range all {
			if r.server == server && !r.taken && len(taken) < most {
				taken[id], r.taken = r.request, true
			}
		}
	})
}

func (d *desk) AnswerRequest(_ context.Context, id string, answer []byte) error {
	return d.use(func(all map[string]*row) {
		if r := all[id]; r != nil {
			r.answer = answer
		}
	})
}

func (d *desk) Answer(_ context.Context, id string) (answer []byte, err error) {
	return answer, d.use(func(all map[string]*row) {
		if r := all[id]; r != nil && r.answer != nil {
			answer = r.answer
			delete(all, id)
		}
	})
}

func (d *desk) Withdraw(_ context.Context, id string) (gone bool, err error) {
	err = d.use(func(all map[string]*row) {
		if r := all[id]; r != nil && !r.taken {
			gone = true
			delete(all, id)
		}
	})
	return gone, err
}

func (d *desk) Forget(_ context.Context, id string) error {
	return d.use(func(all map[string]*row) { delete(all, id) })
}

func (d *desk) goes(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

func (d *desk) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.rows)
}

// place is a database that servers share.
type place struct {
	*book
	*desk
	post *post
}

func newPlace() place { return place{newBook(), &desk{}, &post{}} }

// server is one of the servers of a place.
type server struct {
	*Member
	gate *Gate
}

// serves returns a server that answers the others, until the test ends.
func (p place) serves(t *testing.T, id string) *server {
	t.Helper()
	s := p.dead(id)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{s.Run, s.gate.exchange.notes.Run, s.gate.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return s
}

// dead returns a server that confirms nothing, and answers nobody.
func (p place) dead(id string) *server {
	log := slog.New(slog.DiscardHandler)
	m := NewMember(Server{ID: id}, p.book, log)
	return &server{m, NewGate(m, p.desk, NewNotes(id, p.post, log), front{}, log)}
}

// front answers the paths below /static/ as the leader would.
type front struct{}

func (front) Has(path string) bool { return strings.HasPrefix(path, "/static/") }

func (front) Protect(h http.Header) { h.Set("Content-Security-Policy", "default-src 'none'") }

func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.Has(r.URL.Path) {
		fmt.Fprint(w, "a file")
		return
	}
	http.Error(w, "another server takes over", http.StatusServiceUnavailable)
}

// leads makes a server the leader, with a handler that says what reaches it.
func (s *server) leads(t *testing.T, h http.HandlerFunc) {
	t.Helper()
	s.claims(t)
	s.gate.Lead(pages{h, nil})
}

// pages answer, and need no leader for some paths.
type pages struct {
	http.Handler
	leaderless []string
}

func (p pages) NeedsNoLeader(r *http.Request) bool { return slices.Contains(p.leaderless, r.URL.Path) }

// two are a server that leads, and another one.
func two(t *testing.T, h http.HandlerFunc) (p place, first, second *server) {
	t.Helper()
	p = newPlace()
	first, second = p.serves(t, "first"), p.serves(t, "second")
	first.leads(t, h)
	second.beat(t.Context())
	synctest.Wait()
	return p, first, second
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // a part of a body is none
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Said", "yes")
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintln(w, r.Method, r.Host, r.RequestURI, r.Header.Get("X-Forwarded-For"), r.RemoteAddr, r.TLS == nil)
	_, _ = w.Write(body)
}

// ask asks a server. The status is 0 if the connection is cut.
func (s *server) ask(r *http.Request) (status int, said string) {
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if recover() != nil {
				w.Code = 0
			}
		}()
		s.gate.ServeHTTP(w, r)
	}()
	return w.Code, w.Body.String()
}

func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "music.example.org"
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	return r
}

func TestTheLeaderGetsRequestsAsTheyCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, first, second := two(t, echo)
		for _, s := range []*server{first, second} {
			began := time.Now()
			status, said := s.ask(request(http.MethodPost, "/listens?artist=a%2Fb;c&x", "hello"))
			require.Equal(t, http.StatusAccepted, status)
			require.Equal(t,
				"POST music.example.org /listens?artist=a%2Fb;c&x 203.0.113.7 192.0.2.1:1234 true\nhello", said)
			require.Less(t, time.Since(began), 50*time.Millisecond)
		}
		require.Zero(t, p.desk.len(), "nothing is left there")
		picture := strings.Repeat("x", 5<<20)
		_, said := second.ask(request(http.MethodPut, "/picture", picture))
		require.True(t, strings.HasSuffix(said, "\n"+picture))
	})
}

// A note may get lost while the database is away.
func TestARequestIsNoticedWithoutANote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, second := two(t, echo)
		p.post.goes(true)
		time.AfterFunc(2*time.Second, func() { p.post.goes(false) })
		began := time.Now()
		status, _ := second.ask(request(http.MethodPost, "/", "a form"))
		require.Equal(t, http.StatusAccepted, status)
		require.Less(t, time.Since(began), 4*time.Second)
	})
}

// A form is not sent twice if nobody knows whether it has been received; reading a page is repeated at the next leader.
func TestOnlyWhatIsSafeIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		posts := 0
		_, first, second := two(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				posts++
			}
			panic(http.ErrAbortHandler)
		})
		status, said := second.ask(request(http.MethodPost, "/", "a form"))
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, said, "another server takes over")
		status, said = second.ask(request(http.MethodGet, "/static/app.css", ""))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "a file", said, "a page that says so has its style, without waiting for a leader")
		require.Equal(t, 1, posts)

		read := make(chan string, 1)
		go func() {
			_, said := second.ask(request(http.MethodGet, "/listens", ""))
			read <- said
		}()
		synctest.Wait()
		require.NoError(t, first.Resign(t.Context()))
		first.gate.Lead(nil)
		second.leads(t, echo)
		require.Contains(t, <-read, "GET music.example.org /listens")
		status, _ = first.ask(request(http.MethodPost, "/", "late")) // which has not heard of the second yet
		require.Equal(t, http.StatusAccepted, status)
	})
}

// Promise: What a leader that was killed has not begun is done by the next one, also a form.
func TestWhatNobodyHasTakenIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		first, second := p.dead("first"), p.serves(t, "second")
		first.leads(t, echo)
		second.beat(t.Context())
		done := make(chan int, 1)
		go func() {
			status, _ := second.ask(request(http.MethodPost, "/", "a form"))
			done <- status
		}()
		time.Sleep(2 * takeWithin)
		p.book.grows(VacantAfter)
		second.leads(t, echo)
		require.Equal(t, http.StatusAccepted, <-done)
		require.Zero(t, p.desk.len())
	})
}

// A leader that was stopped takes requests and says nothing, and one without the database learns of none.
func TestASilentLeaderIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, second := two(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		for range 2 {
			began := time.Now()
			status, said := second.ask(request(http.MethodPost, "/", "a form"))
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Contains(t, said, "another server takes over")
			require.LessOrEqual(t, time.Since(began), patience+again)
			p.desk.goes(true)
		}
		p.desk.goes(false)
	})
}

// A browser that has gone leaves nothing behind.
func TestABrowserThatLeftIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		first, second := p.dead("first"), p.serves(t, "second")
		first.leads(t, echo)
		second.beat(t.Context())
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		status, _ := second.ask(request(http.MethodPost, "/", "a form").WithContext(ctx))
		require.Zero(t, status)
		require.Zero(t, p.desk.len())
	})
}

// Websockets and uploads of files aren't passed on: they wait until the server answers by itself.
func TestStreamsAndFilesWaitForTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, second := two(t, func(http.ResponseWriter, *http.Request) { panic("it was passed on") })
		stream := request(http.MethodGet, "/events", "")
		stream.Header.Set("Upgrade", "websocket")
		unsaid := request(http.MethodPost, "/files", strings.Repeat("x", smallBody+1))
		unsaid.ContentLength = -1
		all := []*http.Request{stream, unsaid, request(http.MethodPost, "/files", strings.Repeat("x", largeBody+1))}
		answers := make(chan string, len(all))
		for _, r := range all {
			go func() {
				_, said := second.ask(r)
				answers <- said
			}()
		}
		time.Sleep(time.Second)
		second.gate.Follow(pages{http.HandlerFunc(echo), []string{"/events", "/files"}})
		for range all {
			require.Contains(t, <-answers, "music.example.org /")
		}
		second.gate.Follow(nil)
		status, _ := second.ask(request(http.MethodPost, "/files", strings.Repeat("x", largeBody+1)))
		require.Equal(t, http.StatusServiceUnavailable, status)
	})
}

// What is longer than any page is not passed on in part.
func TestATooLongAnswerIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, second := two(t, func(w http.ResponseWriter, _ *http.Request) {
			for range 33 {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
			}
		})
		status, said := second.ask(request(http.MethodGet, "/", ""))
		require.Equal(t, http.StatusInternalServerError, status)
		require.Contains(t, said, "too long")
	})
}

// What the leader has answered reaches the browser, although its term has ended meanwhile.
func TestAnAnswerOutlivesTheTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, first, second := two(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second)
			fmt.Fprint(w, "done")
		})
		answer := make(chan string, 1)
		go func() {
			_, said := second.ask(request(http.MethodPost, "/", "a form"))
			answer <- said
		}()
		time.Sleep(900 * time.Millisecond)
		p.post.goes(true) // no note of the answer comes through
		time.Sleep(110 * time.Millisecond)
		require.NoError(t, first.Resign(t.Context()))
		second.beat(t.Context())
		require.Equal(t, "done", <-answer)
		p.post.goes(false)
	})
}

func TestProbesAreAnsweredByEachServer(t *testing.T) {
	t.Parallel()
	s := newPlace().dead("alone")
	for _, probe := range []string{"/livez", "/readyz"} {
		w := httptest.NewRecorder()
		s.gate.ServeHTTP(w, request(http.MethodGet, probe, ""))
		require.Equal(t, "default-src 'none'", w.Header().Get("Content-Security-Policy"), probe)
	}
	status, _ := s.ask(request(http.MethodGet, "/livez", ""))
	require.Equal(t, http.StatusOK, status)
	status, said := s.ask(request(http.MethodGet, "/readyz", ""))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "database: doesn't answer\n", said)
	s.beat(t.Context())
	status, _ = s.ask(request(http.MethodGet, "/readyz", ""))
	require.Equal(t, http.StatusOK, status)
	s.gate.Leave()
	status, said = s.ask(request(http.MethodGet, "/readyz", ""))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "draining\n", said)
}

// Promise: What a leader that hangs has not answered ends when another one leads, and is asked of that one if that
// changes nothing.
func TestNobodyWaitsForALeaderThatWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, second := two(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		type answer struct {
			status int
			body   string
		}
		answers := map[string]chan answer{"GET /page": nil, "POST /form": nil}
		for what := range answers {
			got := make(chan answer, 1)
			answers[what] = got
			method, path, _ := strings.Cut(what, " ")
			go func() {
				status, body := second.ask(request(method, path, "x"))
				got <- answer{status, body}
			}()
		}
		time.Sleep(time.Second)
		p.book.grows(VacantAfter)
		second.leads(t, echo)
		second.beat(t.Context())
		began := time.Now()
		page, form := <-answers["GET /page"], <-answers["POST /form"]
		require.Equal(t, http.StatusAccepted, page.status, "%v", page)
		require.Contains(t, page.body, "GET")
		require.Equal(t, http.StatusServiceUnavailable, form.status, "it may have been done: %v", form)
		require.Less(t, time.Since(began), time.Second)
	})
}

// Promise: Pages that need no leader are answered while the leader hangs.
func TestPagesNeedNoLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, second := two(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		begun, told := make(chan struct{}), make(chan struct{})
		second.gate.Follow(pages{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(begun)
				<-told
			}
			fmt.Fprint(w, "from the second")
		}), []string{"/page", "/slow"}})
		get := func(path string) string {
			_, said := second.ask(request(http.MethodGet, path, ""))
			return said
		}
		require.Equal(t, "from the second", get("/page"))
		slow, ended := make(chan string, 1), make(chan struct{})
		go func() { slow <- get("/slow") }()
		<-begun
		go func() {
			second.gate.Follow(nil)
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			require.FailNow(t, "a request is under way")
		case told <- struct{}{}:
		}
		require.Equal(t, "from the second", <-slow)
		<-ended
		p.book.grows(VacantAfter)
		second.leads(t, echo)
		require.Contains(t, get("/page"), "GET", "it leads now")
	})
}

// A request without its last byte gets no answer, rather than an empty one, and takes no room from others.
func TestWithheldRequestsTakeLittleRoom(t *testing.T) {
	t.Parallel()
	p := newPlace()
	first, second := p.serves(t, "first"), p.serves(t, "second")
	first.leads(t, echo)
	front := httptest.NewUnstartedServer(second.gate)
	front.Config.ReadTimeout = time.Second
	front.Start()
	defer front.Close()
	var answers sync.WaitGroup
	for range smallBodies + 10 {
		c, err := net.Dial("tcp", front.Listener.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"+strings.Repeat("x", 99))
		require.NoError(t, err)
		answers.Go(func() {
			said, _ := io.ReadAll(c)
			if strings.Contains(string(said), " 202 ") {
				t.Errorf("%s", said)
			}
		})
	}
	resp, err := http.Get(front.URL) // it has no body, and so needs no room
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	require.LessOrEqual(t, len(second.gate.small), smallBodies)
	answers.Wait()
	require.Empty(t, second.gate.small)
	resp, err = http.Post(front.URL, "text/plain", strings.NewReader("hello"))
	if resp != nil {
		err = errors.Join(err, resp.Body.Close())
	}
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
}
