package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/turns"
)

// answering is an upstream that answers every call with a body. With a drip it sends a byte of the body's end each
// second.
type answering struct {
	kind   string
	body   string
	status int
	length bool // announced
	drip   bool
	cut    bool // the body breaks off
}

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Request: r}
	if f.status != 0 {
		resp.StatusCode = f.status
	}
	if f.kind != "" {
		resp.Header.Set("Content-Type", f.kind)
	}
	if f.length {
		resp.ContentLength = int64(len(f.body))
	}
	resp.Body = io.NopCloser(strings.NewReader(f.body))
	if f.drip {
		resp.Body = io.NopCloser(&dripping{r.Context(), strings.NewReader(f.body)})
	}
	if f.cut {
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(f.body), broken{}))
	}
	return resp, nil
}

// dripping sends the beginning at once and then a byte a second.
type dripping struct {
	ctx  context.Context
	text *strings.Reader
}

func (d *dripping) Read(p []byte) (int, error) {
	if d.text.Size()-int64(d.text.Len()) <= smallAnswer {
		return d.text.Read(p)
	}
	select {
	case <-time.After(time.Second):
		return d.text.Read(p[:1])
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// askFor makes a call for a user, with the turn if it has one.
func askFor(t *testing.T, turn *turns.Turn, tr *Transport, user int64) (*resilience.Answer, error) {
	t.Helper()
	return askIn(t, t.Context(), turn, tr, user)
}

func askIn(t *testing.T, ctx context.Context, turn *turns.Turn, tr *Transport, user int64) (*resilience.Answer, error) {
	t.Helper()
	return askAs(t, ctx, resilience.Call{Client: NewClient(tr), User: user, Turn: turn}, resilience.Endpoint{})
}

func askAs(t *testing.T, ctx context.Context, c resilience.Call, to resilience.Endpoint) (*resilience.Answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://music.home/", nil)
	require.NoError(t, err)
	c.Provider, to.Name = "navidrome", "GET /playlists"
	return c.Send(req, to)
}

var (
	empties = `{"subsonic-response":{"status":"ok","playlists":{"playlist":[` + strings.Repeat("{},", 3_400_000) +
		`{}]}}}`
	large = `{"items":["` + strings.Repeat(strings.Repeat("a", 90)+`","`, 18_000) + `"],"more":["` +
		strings.Repeat(strings.Repeat("a", 90)+`","`, 15_000) + `"]}`
)

// TestMillionsOfPlaylistsAreRefused: ten megabytes of empty objects would be more than a gigabyte when decoded.
func TestMillionsOfPlaylistsAreRefused(t *testing.T) {
	t.Parallel()
	require.Less(t, len(empties), maxBody)
	tr := &Transport{Base: answering{body: empties}, Turns: turns.New()}
	turn := &turns.Turn{}
	defer turn.End()
	_, err := askFor(t, turn, tr, 1)
	require.Equal(t, &resilience.ContractError{Endpoint: "GET /playlists",
		What: "a list of more than 20,000 elements"}, err)
	require.EqualError(t, err, "GET /playlists: unexpected answer: a list of more than 20,000 elements")
}

// TestRefusalsAreBounded: the status of a failed answer says enough, whatever its body does.
//
// Promise: 10 MiB of an answer, 256 KiB of a failed one: no stranger fills the memory.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		empties, `{"error":[` + strings.Repeat("1,", 2_000) + `1]}`, "{\"error\":\"\xf6ö\"}",
	} {
		explained := false
		explain := func(e *resilience.AnswerError) { explained = len(e.Body) <= maxFailure }
		tr := &Transport{Base: answering{body: body, status: 401}, Turns: turns.New()}
		_, err := askAs(t, t.Context(), resilience.Call{Client: NewClient(tr)},
			resilience.Endpoint{Reader: resilience.Reader{Explain: explain}})
		require.Equal(t, resilience.Auth, resilience.VerdictOf(err).Category)
		require.True(t, explained)
	}
}

// TestLargeAnswersTakeTurns: eight at once are never more than two in memory, and all are served.
//
// Promise: Two large answers at once, one per person: a small server's memory.
func TestLargeAnswersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: answering{body: large, length: true}, Turns: turns.New()}
		var mu sync.Mutex
		var together, most, served int
		var all sync.WaitGroup
		for user := range int64(8) {
			all.Go(func() {
				turn := &turns.Turn{}
				defer turn.End()
				_, err := askFor(t, turn, tr, user)
				require.NoError(t, err)
				mu.Lock()
				together++
				most = max(most, together)
				mu.Unlock()
				time.Sleep(10 * time.Second) // decodes and stores
				mu.Lock()
				together--
				served++
				mu.Unlock()
			})
		}
		all.Wait()
		require.Equal(t, [2]int{2, 8}, [2]int{most, served})
	})
}

// requireFree requires that nobody holds a turn or waits for one.
func requireFree(t *testing.T, queue *turns.Queue) {
	t.Helper()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var held [2]turns.Turn
	for user := range held {
		require.NoError(t, held[user].Take(over, queue, int64(user)))
	}
	for user := range held {
		held[user].End()
	}
}

// TestManyElementsNeedATurnToo: few bytes can become much.
func TestManyElementsNeedATurnToo(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{100: false, 10_000: true} {
		tr := &Transport{Base: answering{body: "[" + strings.Repeat("{},", n) + "{}]"}, Turns: turns.New()}
		turn := &turns.Turn{}
		_, err := askFor(t, turn, tr, 1)
		require.NoError(t, err)
		require.Equal(t, want, turn.Held(), n)
		turn.End()
		require.False(t, turn.Held())
		requireFree(t, tr.Turns)
	}
}

// TestTheNextCallGivesTheTurnBack: a run with many large answers never waits for itself.
func TestTheNextCallGivesTheTurnBack(t *testing.T) {
	t.Parallel()
	tr := &Transport{Base: answering{body: large}, Turns: turns.New()}
	told := 0
	turn := &turns.Turn{}
	defer turn.End()
	turn.BeforeLarge(func(context.Context) error { told++; return nil })
	for range 5 {
		_, err := askFor(t, turn, tr, 1)
		require.NoError(t, err)
	}
	require.Equal(t, 1, told)
}

// TestOnePersonHoldsOneTurn: the connections of one person leave the other turn to everybody else.
//
// Promise: Two large answers at once, one per person: a small server's memory.
func TestOnePersonHoldsOneTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: answering{body: large}, Turns: turns.New()}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				turn := &turns.Turn{}
				defer turn.End()
				_, err := askFor(t, turn, tr, 1)
				require.NoError(t, err)
				time.Sleep(20 * time.Second)
			})
		}
		synctest.Wait()
		began := time.Now()
		turn := &turns.Turn{}
		defer turn.End()
		_, err := askFor(t, turn, tr, 2)
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		all.Wait()
	})
}

// TestDrippingServersYieldTheirTurns: a server that sends a byte a second loses its turn with its time.
func TestDrippingServersYieldTheirTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := turns.New()
		slow := &Transport{Base: answering{body: large, drip: true}, Turns: queue}
		var all sync.WaitGroup
		for user := range int64(2) {
			all.Go(func() {
				turn := &turns.Turn{}
				defer turn.End()
				_, err := askFor(t, turn, slow, user)
				require.Equal(t, resilience.Network, resilience.VerdictOf(err).Category)
			})
		}
		synctest.Wait()
		began := time.Now()
		turn := &turns.Turn{}
		defer turn.End()
		_, err := askFor(t, turn, &Transport{Base: answering{body: large}, Turns: queue}, 3)
		require.NoError(t, err, "waiting does not count as the upstream's time")
		require.LessOrEqual(t, time.Since(began), resilience.CallTimeout)
		all.Wait()
	})
}

// TestWaitingInVainBlamesNobody: neither breaker nor uplink learn of it, and the stream is put off.
func TestWaitingInVainBlamesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue, held := turns.New(), [2]turns.Turn{}
		for user := range held {
			require.NoError(t, held[user].Take(t.Context(), queue, int64(user)))
		}
		tr := &Transport{Base: answering{body: large}, Turns: queue, Breakers: NewBreakers(BreakerOptions{Failures: 1})}
		for range 3 {
			turn := &turns.Turn{}
			_, err := askFor(t, turn, tr, 3)
			require.EqualError(t, err, "GET /playlists not called, because other large answers are being read, before "+
				time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
			v := resilience.VerdictOf(err)
			require.Equal(t, [2]any{resilience.Retriable, resilience.ScopeEndpoint}, [2]any{v.Class, v.Scope})
			turn.End()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		turn := &turns.Turn{}
		defer turn.End()
		_, err := askIn(t, ctx, turn, tr, 3)
		require.IsType(t, &backoff.NotBeforeError{}, err, "the end of the run's time")
		canceled, stop := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); stop() }()
		_, err = askIn(t, canceled, turn, tr, 3)
		require.ErrorIs(t, err, context.Canceled)
		for user := range held {
			held[user].End()
		}
		requireFree(t, queue)
		_, err = askFor(t, turn, tr, 3)
		require.NoError(t, err)
	})
}

// TestOutsideOfTurnsAnswersAreSmall: what nobody expects to be large, such as a token, may not be.
func TestOutsideOfTurnsAnswersAreSmall(t *testing.T) {
	t.Parallel()
	_, err := askFor(t, nil, &Transport{Base: answering{body: large}, Turns: turns.New()}, 1)
	require.Equal(t, &resilience.ContractError{Endpoint: "GET /playlists", What: "an answer of more than 1 MiB"}, err)
}

// TestReadingDoesNotDoubleTheBody needs the memory of the body alone.
func TestReadingDoesNotDoubleTheBody(t *testing.T) {
	body := `{"a":"` + strings.Repeat("a", 200<<10) + `","b":[` +
		strings.Repeat(`"`+strings.Repeat("b", 1000)+`",`, 9_800) + `1]}`
	require.Less(t, len(body), maxBody)
	for _, length := range []bool{true, false} {
		tr := &Transport{Base: answering{body: body, length: length}, Turns: turns.New()}
		turn := &turns.Turn{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := askFor(t, turn, tr, 1)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(maxBody+4<<20), "announced: %v", length)
		turn.End()
	}
}

// TestEncodingsOfAnswers: a name arrives as it was written, or the answer is refused in words.
func TestEncodingsOfAnswers(t *testing.T) {
	t.Parallel()
	const want = `{"artist":"Björk"}`
	wide := func(text string) string {
		return string(bytes.Join(bytes.SplitAfter([]byte(text), nil), []byte{0})) + "\x00"
	}
	for name, c := range map[string]answering{
		"UTF-8":                {kind: "application/json", body: want},
		"a mark":               {kind: "application/json", body: "\ufeff" + want},
		"Latin-1":              {kind: "application/json", body: "{\"artist\":\"Bj\xf6rk\"}"},
		"declared Latin-1":     {kind: "application/json; charset=ISO-8859-1", body: "{\"artist\":\"Bj\xf6rk\"}"},
		"undeclared type":      {body: "{\"artist\":\"Bj\xf6rk\"}"},
		"UTF-16":               {body: "\xff\xfe" + wide(`{"artist":"Bj`) + "\xf6\x00" + wide(`rk"}`)},
		"UTF-16 without marks": {kind: "text/plain", body: wide(`{"artist":"Bj`) + "\xf6\x00" + wide(`rk"}`)},
	} {
		a, err := askFor(t, nil, &Transport{Base: c}, 1)
		require.NoError(t, err, name)
		require.Equal(t, want, string(a.Body), name)
	}
	_, err := askFor(t, nil, &Transport{Base: answering{body: "{\"artist\":\"Bj\xf6rk\",\"b\":\"ö\"}"}}, 1)
	require.EqualError(t, err, "GET /playlists: unexpected answer: text in a mixture of encodings")
	picture := "\x89PNG\xf6ö\x00{["
	a, err := askFor(t, nil, &Transport{Base: answering{kind: "image/png", body: picture}}, 1)
	require.NoError(t, err)
	require.Equal(t, picture, string(a.Body), "a picture stays as it is")
	tr := &Transport{Base: answering{
		body: "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><Error><Message>Bj\xf6rk</Message></Error>"}}
	a, err = askAs(t, t.Context(), resilience.Call{Client: NewClient(tr)}, resilience.Endpoint{XML: true})
	require.NoError(t, err)
	require.Contains(t, string(a.Body), "Björk")
}

// BenchmarkReceive is one answer of a megabyte, with and without the check of what it holds.
func BenchmarkReceive(b *testing.B) {
	body := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a1","title":"A title of a song","year":1999},`,
		20_000), ",") + `]}`
	for _, kind := range []string{"application/json", "image/png"} {
		b.Run(kind, func(b *testing.B) {
			in := &incoming{t: &Transport{}, ctx: b.Context(), resp: &http.Response{StatusCode: 200,
				ContentLength: int64(len(body)), Header: http.Header{"Content-Type": {kind}}}}
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				in.resp.Body = io.NopCloser(strings.NewReader(body))
				text, err := in.read()
				if err == nil && kind != "image/png" {
					_, err = in.check(text)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestHeadersAreBounded: those of a call are read without a turn.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]resilience.Category{100 << 10: resilience.None, 1 << 20: resilience.Network} {
		_, err := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("a", size))
		}).get(t, t.Context())
		require.Equal(t, want, resilience.VerdictOf(err).Category, size)
	}
}
