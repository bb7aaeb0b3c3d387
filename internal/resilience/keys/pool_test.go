package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
	"reprise/internal/resilience/transport"
)

var (
	spent   = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeKey}
	tooFast = resilience.Verdict{Class: resilience.Retriable, Category: resilience.RateLimit,
		Scope: resilience.ScopeKey}
	badKey = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeKey}
	down   = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream}
)

func until(v resilience.Verdict, at time.Time) resilience.Verdict {
	v.NotBefore = at
	return v
}

// poolOf returns a pool of keys by these names, each "name" or "project:name". A key's last four characters
// are its name.
func poolOf(names ...string) *Pool {
	keys := make([]Key, len(names))
	for i, name := range names {
		project, key, ok := strings.Cut(name, ":")
		if !ok {
			project, key = "", name
		}
		keys[i] = Key{Secret: resilience.Secret("secret-part-" + key), Project: project}
	}
	return New("youtube", keys, backoff.Options{})
}

// leases what Acquire gives, by the key's last four characters; empty for none.
func leased(p *Pool, v resilience.Verdict) string {
	l, _, ok := p.acquire()
	if !ok {
		return ""
	}
	name := l.Key().LastFour()
	l.done(v)
	return name
}

// Promise: The key with the fewest failures; the next at once: nobody waits for a spent key.
func TestTheKeyWithTheFewestRecentFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa", "bbbb", "cccc")
		require.Equal(t, []string{"aaaa", "bbbb", "cccc", "aaaa"},
			[]string{leased(p, backofftest.Well), leased(p, backofftest.Well), leased(p, backofftest.Well),
				leased(p, backofftest.Well)}, "equals take turns")
		require.Equal(t, "bbbb", leased(p, until(spent, time.Now().Add(time.Minute))))
		time.Sleep(time.Minute)
		for range 4 {
			require.NotEqual(t, "bbbb", leased(p, backofftest.Well), "it failed lately, the others did not")
		}
		require.Equal(t, 1, p.Keys()[1].Failures)
		time.Sleep(24 * time.Hour)
		require.ElementsMatch(t, []string{"aaaa", "bbbb", "cccc"},
			[]string{leased(p, backofftest.Well), leased(p, backofftest.Well),
				leased(p, backofftest.Well)}, "a day later that is over")
	})
}

func TestASuccessTakesOneFailureOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa")
		for range 3 {
			require.Equal(t, "aaaa", leased(p, until(tooFast, time.Now().Add(time.Second))))
			time.Sleep(time.Second)
		}
		for want := 3; want >= 0; want-- {
			require.Equal(t, want, p.Keys()[0].Failures)
			leased(p, backofftest.Well)
		}
		require.Zero(t, p.Keys()[0].Failures)
	})
}

func TestAFailureThatIsNotTheKeysChangesNothing(t *testing.T) {
	t.Parallel()
	p := poolOf("aaaa")
	for _, v := range []resilience.Verdict{down, backofftest.OurEnd,
		{Class: resilience.Retriable, Category: resilience.Network, Scope: resilience.ScopeConnection},
		{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem},
		{Class: resilience.Fatal, Category: resilience.Permission,
			Scope: resilience.ScopeStream}, {Class: resilience.Retriable, Category: resilience.RateLimit,
			Scope: resilience.ScopeApp}} {
		require.Equal(t, "aaaa", leased(p, v))
		require.Equal(t, Status{LastFour: "aaaa"}, p.Keys()[0])
	}
}

func TestALimitWithoutAWaitBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa")
		for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
			require.Equal(t, "aaaa", leased(p, tooFast))
			wait := time.Until(p.Keys()[0].Until)
			require.InDelta(t, want.Seconds(), wait.Seconds(), want.Seconds()/4)
			time.Sleep(wait)
		}
		leased(p, backofftest.Well)
		leased(p, tooFast)
		require.Less(t, time.Until(p.Keys()[0].Until), 40*time.Second, "a success starts the count over")
	})
}

func TestKeysOfOneProjectCountAsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("home:aaaa", "home:bbbb", "work:cccc")
		l, _, _ := p.acquire()
		reset := time.Now().Add(time.Hour)
		begun := l.done(until(spent, reset))
		require.Len(t, begun, 2)
		require.Empty(t, l.done(spent), "one outcome per lease")
		require.Equal(t, "cccc", leased(p, backofftest.Well))
		require.Equal(t, "cccc", leased(p, badKey), "only that key leaves")
		_, s, ok := p.acquire()
		require.False(t, ok)
		require.Equal(t, Shortage{Keys: 3, Category: resilience.Quota, Until: reset}, s)
	})
}

func TestAWaitIsNeverShortened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa")
		first, _, _ := p.acquire()
		second, _, _ := p.acquire()
		reset := time.Now().Add(time.Hour)
		require.Len(t, first.done(until(spent, reset)), 1)
		require.Empty(t, second.done(until(tooFast, time.Now().Add(time.Minute))))
		require.Equal(t, reset, p.Keys()[0].Until)
		require.Equal(t, resilience.Quota, p.Keys()[0].Category)
	})
}

func TestCooldownsSurviveARestartWithoutTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa", "bbbb")
		l, _, _ := p.acquire()
		kept := l.done(until(spent, time.Now().Add(time.Hour)))
		require.NotContains(t, fmt.Sprintf("%+v", kept), "secret-part")
		require.Len(t, kept[0].Key, 64)
		p = poolOf("aaaa", "bbbb")
		p.Restore(append(kept, Cooldown{Provider: "openai", Key: fingerprint("secret-part-bbbb"),
			Until: time.Now().Add(time.Hour)}))
		for range 3 {
			require.Equal(t, "bbbb", leased(p, backofftest.Well))
		}
		time.Sleep(time.Hour)
		p = poolOf("aaaa")
		p.Restore(kept)
		require.Equal(t, "aaaa", leased(p, backofftest.Well), "it has ended")
	})
}

func TestReadmit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa", "bbbb")
		leased(p, badKey)
		leased(p, until(spent, time.Now().Add(time.Hour)))
		require.Empty(t, leased(p, backofftest.Well))
		p.Readmit()
		require.Equal(t, "aaaa", leased(p, backofftest.Well))
		require.Equal(t, "aaaa", leased(p, backofftest.Well), "what cools goes on cooling")
	})
}

func TestAKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "????", Key{Secret: "short"}.LastFour())
	require.Equal(t, "part", Key{Secret: "secret-part"}.LastFour())
	require.NotContains(t, fmt.Sprintf("%v %+v", poolOf("aaaa").keys, Key{Secret: "secret-part"}), "secret-")
	var none *Pool
	require.Zero(t, none.Size())
	require.Empty(t, none.Keys())
	none.Readmit()
}

// keyServer is a provider in a bubble: it answers by the key that a request carries, and remembers the keys.
type keyServer struct {
	answers map[string]string // by the key's last four: a code; "" is success
	wait    time.Duration
	seen    []string
	bodies  []string
}

func (s *keyServer) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.Header.Get("Key")
	key = key[len(key)-4:]
	s.seen = append(s.seen, key)
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		s.bodies = append(s.bodies, string(b))
	}
	code, status := s.answers[key], 200
	if code != "" {
		_, _ = fmt.Sscan(code, &status) // a code begins with its status
	}
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`)),
		Request: req, ContentLength: -1}
	resp.Header.Set("Code", code)
	return resp, nil
}

func (s *keyServer) explain(e *resilience.AnswerError) {
	switch e.Code = e.Header.Get("Code"); e.Code {
	case "403 quota":
		e.Meaning = &resilience.Meaning{Class: resilience.Retriable, Category: resilience.Quota,
			Scope: resilience.ScopeKey, Advice: said("Spent.")}
		e.NotBefore = time.Now().Add(s.wait)
	case "403 invalid":
		e.Meaning = &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
			Scope: resilience.ScopeKey}
	case "404 item":
		e.Meaning = &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	}
}

// explained is rt for an adapter that reads the server's words.
func (s *keyServer) explained(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		c := resilience.RequestOf(req)
		c.To.Reader.Explain = s.explain
		return rt.RoundTrip(c.On(req))
	})
}

// keyed is a client whose requests go by the keys of a pool to a keyServer.
func keyed(s *keyServer, p *Pool) (*http.Client, *Transport) {
	t := &Transport{Base: s.explained(&transport.Transport{Base: s}), Pool: p, Advice: said("Make new keys."),
		Spent: said("Wait for the next day."),
		Put:   func(r *http.Request, k resilience.Secret) { r.Header.Set("Key", string(k)) }}
	return transport.NewClient(t), t
}

func ask(t *testing.T, client *http.Client) error {
	t.Helper()
	return askWith(t, resilience.Call{Client: client})
}

func askWith(t *testing.T, c resilience.Call) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "https://api.example.org/videos?id=geoff",
		strings.NewReader("what is asked"))
	require.NoError(t, err)
	_, err = c.Send(req, resilience.Endpoint{Name: "GET /videos"})
	require.Empty(t, req.Header, "the caller's request is not touched")
	if err != nil {
		require.NotContains(t, err.Error(), "secret-")
	}
	return err
}

// Promise: The key with the fewest failures; the next at once: nobody waits for a spent key.
func TestASpentKeysRequestGoesOutWithTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &keyServer{answers: map[string]string{"aaaa": "403 quota"}, wait: time.Hour}
		var saved []Cooldown
		p := poolOf("aaaa", "bbbb", "cccc")
		client, keyTransport := keyed(s, p)
		keyTransport.Save = func(_ context.Context, w []Cooldown) error { saved = append(saved, w...); return nil }
		require.NoError(t, ask(t, client))
		require.Equal(t, []string{"aaaa", "bbbb"}, s.seen)
		require.Equal(t, []string{"what is asked", "what is asked"}, s.bodies)
		require.Len(t, saved, 1)
		for range 5 {
			require.NoError(t, ask(t, client))
		}
		require.NotContains(t, s.seen[2:], "aaaa")
	})
}

func TestAllKeysSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &keyServer{answers: map[string]string{"aaaa": "403 quota", "bbbb": "403 invalid", "cccc": "403 quota"},
			wait: time.Hour}
		client, _ := keyed(s, poolOf("aaaa", "bbbb", "cccc"))
		reset := time.Now().Add(time.Hour)
		for range 3 {
			err := ask(t, client)
			require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota,
				Scope: resilience.ScopeApp, NotBefore: reset},
				resilience.VerdictOf(err), "%v", err)
			require.Contains(t, err.Error(), "none of 3 keys")
			e, ok := errors.AsType[*Error](err)
			require.True(t, ok)
			require.Equal(t, "Wait for the next day.", e.Advice.String(), "also without a request")
		}
		require.Equal(t, []string{"aaaa", "bbbb", "cccc"}, s.seen, "afterwards no request goes out")
		s.answers = nil
		time.Sleep(time.Hour)
		require.NoError(t, ask(t, client))
	})
}

func TestAllKeysRefused(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]resilience.Category{"403 invalid": resilience.Config, "401": resilience.Auth,
		"403": resilience.Permission} {
		s := &keyServer{answers: map[string]string{"aaaa": code, "bbbb": code}}
		p := poolOf("aaaa", "bbbb")
		client, _ := keyed(s, p)
		for range 2 {
			err := ask(t, client)
			require.Equal(t, resilience.Verdict{Class: resilience.Fatal, Category: want, Scope: resilience.ScopeApp},
				resilience.VerdictOf(err), "%s: %v", code,
				err)
			e, ok := errors.AsType[*Error](err)
			require.True(t, ok)
			require.Equal(t, "Make new keys.", e.Advice.String())
		}
		require.Equal(t, []string{"aaaa", "bbbb"}, s.seen)
		p.Readmit()
		require.Error(t, ask(t, client))
		require.Len(t, s.seen, 4, "a person may have it tried again")
	}
}

func TestWhatIsNotTheKeysFaultComesBackAtOnce(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]resilience.Category{"503": resilience.Upstream, "404 item": resilience.Item,
		"404": resilience.Item, "400": resilience.Item} {
		s := &keyServer{answers: map[string]string{"aaaa": code}}
		client, _ := keyed(s, poolOf("aaaa", "bbbb"))
		require.Equal(t, want, resilience.VerdictOf(ask(t, client)).Category, code)
		require.Equal(t, []string{"aaaa"}, s.seen)
	}
}

func TestASaveThatFailsStopsNothing(t *testing.T) {
	t.Parallel()
	s := &keyServer{answers: map[string]string{"aaaa": "403 quota"}, wait: time.Hour}
	client, keyTransport := keyed(s, poolOf("aaaa", "bbbb"))
	var told error
	keyTransport.Save = func(context.Context, []Cooldown) error { return errors.New("disk full") }
	keyTransport.Failed = func(err error) { told = err }
	require.NoError(t, ask(t, client))
	require.EqualError(t, told, "disk full")
}

func TestTheLogNamesKeyAndAttempt(t *testing.T) {
	t.Parallel()
	s := &keyServer{answers: map[string]string{"aaaa": "403 quota"}, wait: time.Hour}
	var out strings.Builder
	client, keyTransport := keyed(s, poolOf("aaaa", "bbbb"))
	keyTransport.Base = s.explained(&transport.Transport{Base: s, Log: slog.New(
		slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, ask(t, client))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Regexp(t, `attempt=1 .*key=aaaa`, lines[0])
	require.Regexp(t, `attempt=2 .*key=bbbb`, lines[1])
	require.NotContains(t, out.String(), "secret-")
}

func TestConcurrentKeyFailuresCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New("youtube", []Key{{Secret: "secret-part-aaaa"}}, backoff.Options{Jitter: -1})
		var leases []lease
		for range 8 {
			l, _, _ := p.acquire()
			leases = append(leases, l)
		}
		for i := range leases {
			leases[i].done(tooFast)
		}
		require.Equal(t, 30*time.Second, time.Until(p.Keys()[0].Until))
		require.Equal(t, 1, p.Keys()[0].Failures)
	})
}

func TestAServerThatRepeatsAKeyRevealsNothing(t *testing.T) {
	t.Parallel()
	const secret = "secret-part-aaaa"
	for _, header := range []string{"Authorization", "X-Goog-Api-Key", "Api-Key"} {
		far := roundTripper(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 401, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader("Invalid API key: " + secret + ", really"))}, nil
		})
		var read string
		client := transport.NewClient(&Transport{Base: &transport.Transport{Base: far},
			Pool: New("openai", []Key{{Secret: secret}}, backoff.Options{}),
			Put:  func(r *http.Request, k resilience.Secret) { r.Header.Set(header, "Bearer "+string(k)) }})
		explain := func(e *resilience.AnswerError) { read, e.Message = string(e.Body), string(e.Body) }
		req, err := http.NewRequestWithContext(t.Context(), "GET", "https://api.example.org/", nil)
		require.NoError(t, err)
		_, err = resilience.Call{Client: client}.Send(req, resilience.Endpoint{Name: "GET /",
			Reader: resilience.Reader{Explain: explain}})
		require.Equal(t, "Invalid API key: …, really", read)
		require.NotContains(t, err.Error(), secret)
	}
}

// said is a Cause that is its own name.
type said string

func (s said) String() string { return string(s) }

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
