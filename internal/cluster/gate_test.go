package cluster

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is one of the servers of a book, with its two listeners.
type server struct {
	*Member
	gate  *Gate
	url   string // for browsers
	peers net.Listener
}

func (b *book) serves(t *testing.T, id, secret string) *server {
	t.Helper()
	known, err := NewIdentity(secret)
	require.NoError(t, err)
	peers, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	s := &server{Member: NewMember(Server{ID: id, Address: peers.Addr().String()}, b, log), peers: peers}
	s.gate = NewGate(s.Member, known, front{}, log)
	go s.gate.Serve(t.Context(), peers)
	if id != "alone" {
		go s.Run(t.Context())
	}
	front := httptest.NewServer(s.gate)
	t.Cleanup(front.Close)
	s.url = front.URL
	return s
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

// A browser sends the second half of a file after its server's patience with a whole request has passed.
func TestASlowUploadReachesTheLeader(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	first.leads(t, echo)
	front := httptest.NewUnstartedServer(second.gate)
	front.Config.ReadTimeout = 100 * time.Millisecond
	front.Start()
	defer front.Close()
	half := strings.Repeat("x", keptBody)
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, half)
		time.Sleep(3 * front.Config.ReadTimeout) // it passes, whatever else happens
		_, _ = io.WriteString(w, half)
		_ = w.Close()
	}()
	resp, err := http.Post(front.URL, "text/plain", r)
	require.NoError(t, err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(said), half+half)
}

// A request without its last byte gets no answer, rather than an empty one, and takes no room from others.
func TestWithheldRequestsTakeLittleRoom(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	first.leads(t, echo)
	front := httptest.NewUnstartedServer(second.gate)
	front.Config.ReadTimeout = time.Second
	front.Start()
	defer front.Close()
	var answers sync.WaitGroup
	for range bodies + 10 {
		c, err := net.Dial("tcp", front.Listener.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"+strings.Repeat("x", 99))
		require.NoError(t, err)
		answers.Go(func() {
			said, _ := io.ReadAll(c)
			if strings.Contains(string(said), " 200 ") {
				t.Errorf("%s", said)
			}
		})
	}
	status, said := ask(t, http.MethodPost, front.URL, "hello")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, said, "hello")
	require.LessOrEqual(t, len(second.gate.bodies), bodies)
	answers.Wait()
	require.Empty(t, second.gate.bodies)
}

// A leader that was stopped takes requests and says nothing.
func TestASilentLeaderIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	wakes := make(chan struct{})
	defer close(wakes)
	first.leads(t, func(http.ResponseWriter, *http.Request) { <-wakes })
	transport := second.gate.proxy.Transport.(*http.Transport)
	require.Equal(t, patience, transport.ResponseHeaderTimeout)
	transport.ResponseHeaderTimeout = 50 * time.Millisecond
	status, said := ask(t, http.MethodPost, second.url+"/", "a form")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, said, "another server takes over")
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // a part of a body is none
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, r.Method, r.Host, r.URL.RequestURI(), r.Header.Get("X-Forwarded-For"),
		r.Header.Get(cameFrom), r.TLS == nil, string(body))
	fmt.Fprint(w, r.RemoteAddr)
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Host = "music.example.org"
	req.Header.Set("X-Forwarded-For", "203.0.113.7")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func TestTheLeaderGetsRequestsAsTheyCame(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	first.leads(t, echo)
	for _, s := range []*server{first, second} {
		status, said := ask(t, http.MethodPost, s.url+"/listens?artist=a%2Fb;c&x", "hello")
		require.Equal(t, http.StatusOK, status)
		asked, from, _ := strings.Cut(said, "\n")
		require.Equal(t, "POST music.example.org /listens?artist=a%2Fb;c&x 203.0.113.7  true hello", asked)
		require.True(t, strings.HasPrefix(from, "127.0.0.1:"), from)
		require.NotEqual(t, first.peers.Addr().String(), from)
	}
}

func TestServersWithAnotherKeyAreRefused(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a key of its own")
	first.leads(t, echo)
	_, err := second.gate.proxy.Transport.RoundTrip(httptest.NewRequest(http.MethodGet,
		"https://"+first.peers.Addr().String()+"/", nil))
	require.ErrorContains(t, err, "unknown authority")
	known, err := NewIdentity("a secret key of all")
	require.NoError(t, err)
	known.config.Certificates = nil
	nobody := &http.Transport{TLSClientConfig: known.config}
	_, err = nobody.RoundTrip(httptest.NewRequest(http.MethodGet, "https://"+first.peers.Addr().String()+"/", nil))
	require.ErrorContains(t, err, "certificate required")
}

// A form is not sent twice if nobody knows whether it has been received; reading a page is repeated at the next leader.
func TestOnlyWhatIsSafeIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	var posts atomic.Int32
	first.leads(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		panic(http.ErrAbortHandler)
	})
	status, said := ask(t, http.MethodPost, second.url+"/", "a form")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, said, "another server takes over")
	status, said = ask(t, http.MethodGet, second.url+"/static/app.css", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "a file", said, "a page that says so has its style, without waiting for a leader")
	require.EqualValues(t, 1, posts.Load())

	read := make(chan string, 1)
	go func() {
		_, said := ask(t, http.MethodGet, second.url+"/listens", "")
		read <- said
	}()
	require.NoError(t, first.Resign(t.Context()))
	first.gate.Lead(nil)
	second.leads(t, echo)
	require.Contains(t, <-read, "GET music.example.org /listens")
	status, _ = ask(t, http.MethodPost, first.url+"/", "late") // which has not heard of the second yet
	require.Equal(t, http.StatusOK, status)
}

func TestProbesAreAnsweredByEachServer(t *testing.T) {
	t.Parallel()
	b := newBook()
	s := b.serves(t, "alone", "a secret key of all")
	for _, probe := range []string{"/livez", "/readyz"} {
		resp, err := http.Get(s.url + probe)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "default-src 'none'", resp.Header.Get("Content-Security-Policy"), probe)
	}
	status, _ := ask(t, http.MethodGet, s.url+"/livez", "")
	require.Equal(t, http.StatusOK, status)
	status, said := ask(t, http.MethodGet, s.url+"/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "database: doesn't answer\n", said)
	s.beat(t.Context())
	status, _ = ask(t, http.MethodGet, s.url+"/readyz", "")
	require.Equal(t, http.StatusOK, status)
	s.gate.Leave()
	status, said = ask(t, http.MethodGet, s.url+"/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "draining\n", said)
}

// A program that has the servers' key, but passes on no browser's request, learns nothing.
func TestOnlyRequestsOfBrowsersAreAnswered(t *testing.T) {
	t.Parallel()
	only := newBook().serves(t, "first", "a secret key of all")
	only.leads(t, echo)
	w := httptest.NewRecorder()
	only.gate.answer(w, httptest.NewRequest(http.MethodGet, "/files/x", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
}

// Promise: What a leader that hangs has not answered ends when another one leads, and is asked of that one if that
// changes nothing.
func TestNobodyWaitsForALeaderThatWas(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	begun, woken := make(chan struct{}, 3), make(chan struct{})
	defer close(woken)
	first.leads(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush()
		}
		begun <- struct{}{}
		<-woken
	})
	second.beat(t.Context())
	type answer struct {
		status int
		body   string
		err    error
	}
	streams := make(chan struct{})
	answers := map[string]chan answer{"GET /page": nil, "POST /form": nil, "GET /stream": nil}
	for what := range answers {
		got := make(chan answer, 1)
		answers[what] = got
		method, path, _ := strings.Cut(what, " ")
		go func() {
			req, _ := http.NewRequest(method, second.url+path, strings.NewReader("x")) // it is sound
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				got <- answer{err: err}
				return
			}
			defer resp.Body.Close()
			if path == "/stream" {
				close(streams)
			}
			said, err := io.ReadAll(resp.Body)
			got <- answer{resp.StatusCode, string(said), err}
		}()
		<-begun
	}
	<-streams
	b.grows(VacantAfter)
	second.leads(t, echo)
	second.beat(t.Context())
	page, form, stream := <-answers["GET /page"], <-answers["POST /form"], <-answers["GET /stream"]
	require.Equal(t, http.StatusOK, page.status, "%v", page)
	require.Contains(t, page.body, "GET")
	require.Equal(t, http.StatusServiceUnavailable, form.status, "it may have been taken: %v", form)
	require.Error(t, stream.err, "it is known to be cut off")
}

// Promise: Pages that need no leader are answered while the leader hangs.
func TestPagesNeedNoLeader(t *testing.T) {
	t.Parallel()
	b := newBook()
	first, second := b.serves(t, "first", "a secret key of all"), b.serves(t, "second", "a secret key of all")
	woken := make(chan struct{})
	defer close(woken)
	first.leads(t, func(http.ResponseWriter, *http.Request) { <-woken })
	second.beat(t.Context())
	begun, told := make(chan struct{}), make(chan struct{})
	second.gate.Follow(pages{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-told
		}
		fmt.Fprint(w, "from the second")
	}), []string{"/page", "/slow"}})
	get := func(path string) string {
		resp, err := http.Get(second.url + path)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		if err != nil {
			return err.Error()
		}
		return string(said)
	}
	require.Equal(t, "from the second", get("/page"))
	slow, ended := make(chan string, 1), make(chan struct{})
	go func() { slow <- get("/slow") }()
	<-begun
	go func() {
		second.gate.Follow(nil)
		close(ended)
	}()
	select {
	case <-ended:
		require.FailNow(t, "a request is under way")
	case told <- struct{}{}:
	}
	require.Equal(t, "from the second", <-slow)
	<-ended
	b.grows(VacantAfter)
	second.leads(t, echo)
	require.Contains(t, get("/page"), "GET", "it leads now")
}
