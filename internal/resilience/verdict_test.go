package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// answer is a failure by status alone; token is one of a token endpoint; row is one that a provider's table has given
// its meaning.
func answer(status int) error { return &AnswerError{Endpoint: "GET /things", Status: status} }

func token(status int, code string) error {
	m := TokenMeaning(status, code)
	return &AnswerError{Endpoint: "POST token endpoint", Status: status, Code: code, Meaning: &m}
}

func row(status int, class Class, category Category, scope Scope) error {
	return &AnswerError{Endpoint: "GET /things", Status: status,
		Meaning: &Meaning{Class: class, Category: category, Scope: scope}}
}

func page(err error) error {
	e, _ := errors.AsType[*AnswerError](err)
	e.HTML = true
	return e
}

// truthTable is the truth table of the design, row by row.
var truthTable = []struct {
	outcome  string
	err      error
	class    Class
	category Category
	scope    Scope
}{
	{"understood", nil, OK, None, ScopeNone},

	{"our own end", context.Canceled, Canceled, None, ScopeNone},

	{"no complete answer", &NetworkError{Err: io.ErrUnexpectedEOF}, Retriable, Network, ScopeConnection},
	{"timeout", &NetworkError{Err: context.DeadlineExceeded}, Retriable, Network, ScopeConnection},
	{"end of a run's time", context.DeadlineExceeded, Retriable, Network, ScopeConnection},

	{"408", answer(408), Retriable, Upstream, ScopeStream},
	{"425", answer(425), Retriable, Upstream, ScopeStream},
	{"500", answer(500), Retriable, Upstream, ScopeStream},
	{"502", answer(502), Retriable, Upstream, ScopeStream},
	{"503", answer(503), Retriable, Upstream, ScopeStream},
	{"504", answer(504), Retriable, Upstream, ScopeStream},
	{"other 5xx", answer(599), Retriable, Upstream, ScopeStream},

	{"429 with a time", &AnswerError{Status: 429, NotBefore: time.Now().Add(time.Hour)}, Retriable, RateLimit,
		ScopeApp},
	{"429 without one", answer(429), Retriable, RateLimit, ScopeConnection},
	{"429 with a bad one", &AnswerError{Status: 429, BadWait: true}, Retriable, RateLimit, ScopeConnection},
	{"429 of a key without a time", row(429, Retriable, RateLimit, ScopeKey), Retriable, RateLimit, ScopeKey},
	{"403, the quota is spent", row(403, Retriable, Quota, ScopeKey), Retriable, Quota, ScopeKey},
	{"429, the quota is spent", row(429, Retriable, Quota, ScopeKey), Retriable, Quota, ScopeKey},

	{"401", answer(401), Fatal, Auth, ScopeConnection},

	{"token endpoint: invalid_grant", token(400, "invalid_grant"), Fatal, Auth, ScopeConnection},
	{"token endpoint: invalid_grant as 401", token(401, "invalid_grant"), Fatal, Auth, ScopeConnection},
	{"token endpoint: invalid_grant inside 200", token(200, "invalid_grant"), Fatal, Auth, ScopeConnection},
	{"token endpoint: 401", token(401, ""), Fatal, Auth, ScopeConnection},
	{"token endpoint: 403", token(403, ""), Fatal, Auth, ScopeConnection},
	{"token endpoint: 500", token(500, ""), Retriable, Upstream, ScopeConnection},
	{"token endpoint: 503", token(503, ""), Retriable, Upstream, ScopeConnection},
	{"token endpoint: 503 whatever its body", token(503, "invalid_grant"), Retriable, Upstream, ScopeConnection},
	{"token endpoint: 500 whatever its body", token(500, "invalid_client"), Retriable, Upstream, ScopeConnection},
	{"token endpoint: 429", token(429, ""), Retriable, RateLimit, ScopeConnection},
	{"token endpoint: 429 whatever its body", token(429, "invalid_grant"), Retriable, RateLimit, ScopeConnection},
	{"token endpoint: unreachable", &NetworkError{Endpoint: "POST token endpoint", Err: io.EOF}, Retriable, Network,
		ScopeConnection},
	{"token endpoint: invalid_client", token(400, "invalid_client"), Fatal, Config, ScopeApp},
	{"token endpoint: invalid_client as 401", token(401, "invalid_client"), Fatal, Config, ScopeApp},
	{"token endpoint: unauthorized_client", token(400, "unauthorized_client"), Fatal, Config, ScopeApp},

	{"403", answer(403), Fatal, Permission, ScopeStream},
	{"403, permission missing", row(403, Fatal, Auth, ScopeConnection), Fatal, Auth, ScopeConnection},

	{"setting missing", &SettingError{Setting: "providers.x.client_id", Problem: said("missing")}, Fatal,
		Config, ScopeApp},

	{"401 on a pooled key", row(401, Fatal, Auth, ScopeKey), Fatal, Auth, ScopeKey},

	{"404 about one object", answer(404), Fatal, Item, ScopeItem},
	{"410 about one object", answer(410), Fatal, Item, ScopeItem},
	{"400 about one object", answer(400), Fatal, Item, ScopeItem},
	{"422 about one object", answer(422), Fatal, Item, ScopeItem},

	{"other 4xx about the call", answer(405), Fatal, Contract, ScopeStream},

	{"page with 200", page(answer(200)), Retriable, Upstream, ScopeStream},
	{"page with 302", page(answer(302)), Retriable, Upstream, ScopeStream},
	{"page with 401", page(answer(401)), Retriable, Upstream, ScopeStream},
	{"page with 403", page(answer(403)), Retriable, Upstream, ScopeStream},
	{"page with 404", page(answer(404)), Retriable, Upstream, ScopeStream},
	{"page with 502", page(answer(502)), Retriable, Upstream, ScopeStream},
	{"page of a token endpoint", page(token(400, "")), Retriable, Upstream, ScopeStream},

	{"broken shape", &ContractError{What: "a string in items"}, Retriable, Contract, ScopeStream},

	{"breaker open", row(0, Retriable, CircuitOpen, ScopeEndpoint), Retriable, CircuitOpen, ScopeEndpoint},

	{"anything else", errors.New("something else"), Retriable, Unknown, ScopeConnection},
	{"a fault of our own", &LocalError{Problem: said("It is full."), Err: io.ErrShortWrite}, Retriable, Unknown,
		ScopeConnection},
	{"a fault of our own that took too long", &LocalError{Err: context.DeadlineExceeded}, Retriable, Unknown,
		ScopeConnection},
	{"a fault of our own because of our own end", &LocalError{Err: context.Canceled}, Canceled, None, ScopeNone},
}

// Promise: Each row of the truth table: one meaning for an outcome, everywhere.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	for _, c := range truthTable {
		t.Run(c.outcome, func(t *testing.T) {
			t.Parallel()
			v := VerdictOf(c.err)
			require.Equal(t, [3]string{c.class.String(), c.category.String(), c.scope.String()},
				[3]string{v.Class.String(), v.Category.String(), v.Scope.String()})
			require.Equal(t, c.class == Retriable || c.class == Fatal, v.Failed())
		})
	}
}

// TestEveryStatusMeansSomething sweeps the general table: nothing is left unclassified, and what is fatal is listed.
//
// Promise: Each row of the truth table: one meaning for an outcome, everywhere.
func TestEveryStatusMeansSomething(t *testing.T) {
	t.Parallel()
	retriable := map[int]Category{408: Upstream, 425: Upstream, 429: RateLimit}
	fatal := map[int]Category{400: Item, 401: Auth, 403: Permission, 404: Item, 410: Item, 422: Item}
	for status := 100; status <= 599; status++ {
		v := VerdictOf(answer(status))
		class, category := Retriable, Upstream
		if c, ok := retriable[status]; ok {
			category = c
		} else if status >= 400 && status < 500 {
			class, category = Fatal, Contract
			if c, ok := fatal[status]; ok {
				category = c
			}
		}
		require.Equal(t, class, v.Class, status)
		require.Equal(t, category, v.Category, status)
		require.NotContains(t, []Scope{ScopeNone, ScopeEndpoint, ScopeKey, ScopeApp}, v.Scope, status)
	}
}

// TestEveryStatusOfATokenEndpointMeansSomething: an outage never reads as "reconnect", whatever code comes with it.
func TestEveryStatusOfATokenEndpointMeansSomething(t *testing.T) {
	t.Parallel()
	codes := []string{"", "invalid_grant", "invalid_client", "unauthorized_client", "invalid_request",
		"unsupported_grant_type", "invalid_scope", "no_such_code"}
	for status := 100; status <= 599; status++ {
		for _, code := range codes {
			v := VerdictOf(token(status, code))
			where := fmt.Sprint(status, " ", code)
			require.True(t, v.Failed(), where)
			require.NotContains(t, []Category{None, Unknown, Item}, v.Category, where)
			require.Contains(t, []Scope{ScopeConnection, ScopeApp}, v.Scope, where)
			switch {
			case status >= 500 || status == 429 || status == 408 || status == 425:
				require.Equal(t, Retriable, v.Class, where)
			case code == "invalid_grant":
				require.Equal(t, [2]any{Fatal, Auth}, [2]any{v.Class, v.Category}, where)
			case code == "invalid_client" || code == "unauthorized_client":
				require.Equal(t, [2]any{Fatal, Config}, [2]any{v.Class, v.Category}, where)
			case status >= 400:
				require.Equal(t, Fatal, v.Class, where)
			default:
				require.Equal(t, Retriable, v.Class, where)
			}
		}
	}
}

func TestAPageIsNeverFatal(t *testing.T) {
	t.Parallel()
	for status := 100; status <= 599; status++ {
		for _, err := range []error{answer(status), token(status, "invalid_grant"),
			row(status, Fatal, Auth, ScopeConnection)} {
			e, _ := errors.AsType[*AnswerError](page(err))
			v := VerdictOf(e)
			require.Equal(t, [3]any{Retriable, Upstream, ScopeStream}, [3]any{v.Class, v.Category, v.Scope}, status)
			require.False(t, e.Unauthorized(), "a page refuses no credential")
		}
	}
	e := &AnswerError{Status: http.StatusUnauthorized}
	require.True(t, e.Unauthorized())
}

// TestTypesAreFoundInsideOtherErrors: what an adapter wraps keeps its meaning.
func TestTypesAreFoundInsideOtherErrors(t *testing.T) {
	t.Parallel()
	other := errors.New("database is closed")
	for _, plain := range []error{
		answer(401), answer(503), token(400, "invalid_client"), context.Canceled, context.DeadlineExceeded,
		&NetworkError{Err: io.EOF}, &ContractError{}, &SettingError{},
	} {
		want := VerdictOf(plain)
		for name, err := range map[string]error{
			"wrapped":       fmt.Errorf("page 3: %w", plain),
			"wrapped twice": fmt.Errorf("listens: %w", fmt.Errorf("page 3: %w", plain)),
			"joined, first": errors.Join(plain, other),
			"joined, last":  errors.Join(other, plain),
			"by net/http":   &url.Error{Op: "Get", URL: "http://example.com", Err: plain},
		} {
			require.Equal(t, want, VerdictOf(err), "%s: %v", name, plain)
		}
	}
	require.Equal(t, Auth, VerdictOf(errors.Join(context.Canceled, answer(401))).Category,
		"an answer that did arrive counts")
}

// TestTextIsNeverLookedAt: "geoff" contains "eof", and a body may say anything.
//
// Promise: The text of an error never decides: it holds names and addresses.
func TestTextIsNeverLookedAt(t *testing.T) {
	t.Parallel()
	text := "user geoff: EOF, timeout, connection reset, 401, 503, invalid_grant, <html>, context canceled"
	require.Equal(t, VerdictOf(errors.New("x")), VerdictOf(errors.New(text)))
	for _, status := range []int{400, 401, 403, 404, 429, 503} {
		loud := &AnswerError{Endpoint: "GET /user/geoff", Status: status, Code: "eof", Message: text,
			Body: []byte(text)}
		require.Equal(t, VerdictOf(answer(status)), VerdictOf(loud), status)
	}
	require.Equal(t, VerdictOf(&NetworkError{Err: io.EOF}), VerdictOf(&NetworkError{Err: errors.New(text)}))
	require.Equal(t, VerdictOf(&ContractError{}), VerdictOf(&ContractError{What: text}))
}

func TestHowLongAVerdictSaysToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		soon, later := now.Add(time.Minute), now.Add(6*time.Hour)
		premium := &Meaning{Class: Retriable, Category: Permission, Scope: ScopeApp, Hold: 6 * time.Hour}
		require.Equal(t, later, VerdictOf(&AnswerError{Status: 403, Meaning: premium}).NotBefore, "the documented wait")
		require.Equal(t, soon, VerdictOf(&AnswerError{Status: 403, Meaning: premium, NotBefore: soon}).NotBefore,
			"what the answer says is better")
		require.Equal(t, soon, VerdictOf(&AnswerError{Status: 503, NotBefore: soon}).NotBefore)
		require.Equal(t, soon, VerdictOf(page(&AnswerError{Status: 503, NotBefore: soon})).NotBefore,
			"a maintenance page may say when it ends")
		require.Zero(t, VerdictOf(&AnswerError{Status: 401, NotBefore: soon}).NotBefore,
			"waiting does not mend what is fatal")
		require.True(t, VerdictOf(&AnswerError{Status: 503, BadWait: true}).BadWait)

		limit := &Meaning{Class: Retriable, Category: RateLimit, Scope: ScopeApp, Hold: 6 * time.Hour}
		v := VerdictOf(&AnswerError{Status: 429, Meaning: limit, BadWait: true})
		require.Equal(t, [2]any{later, ScopeApp}, [2]any{v.NotBefore, v.Scope}, "a documented wait is a usable time")
	})
	require.Equal(t, 5*time.Second, VerdictOf(&NetworkError{FirstDelay: 5 * time.Second}).FirstDelay)
	require.EqualValues(t, 3, VerdictOf(&ContractError{}).FatalAfter)
	generic := &Meaning{Class: Retriable, Category: Upstream, Scope: ScopeStream, FatalAfter: 10}
	require.EqualValues(t, 10, VerdictOf(&AnswerError{Status: 200, Meaning: generic}).FatalAfter)
	require.Zero(t, VerdictOf(page(&AnswerError{Status: 200, Meaning: generic})).FatalAfter,
		"a page never becomes fatal")
}
