package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

var prompt = providers.Prompt{System: "Write.", User: "Artists:\n- Sigur Rós (3)"}

// asking returns a model with these settings that calls through client.
func asking(client *http.Client, settings ...string) providers.Model {
	return providertest.NewIn(providers.Installation{Client: client}, Describe(), settings...).Model
}

func complete(t *testing.T, far http.RoundTripper) (providers.Completion, error) {
	t.Helper()
	return asking(providertest.Client(far), "model", "a-model").Complete(t.Context(), resilience.Call{}, prompt)
}

func verdict(c resilience.Class, category resilience.Category, s resilience.Scope) resilience.Verdict {
	return resilience.Verdict{Class: c, Category: category, Scope: s}
}

var (
	quota    = verdict(retriable, resilience.Quota, resilience.ScopeKey)
	limit    = verdict(retriable, resilience.RateLimit, resilience.ScopeKey)
	keyAuth  = verdict(fatal, resilience.Auth, resilience.ScopeKey)
	config   = verdict(fatal, resilience.Config, resilience.ScopeApp)
	item     = verdict(fatal, resilience.Item, resilience.ScopeItem)
	contract = verdict(fatal, resilience.Contract, resilience.ScopeStream)
	upstream = verdict(retriable, resilience.Upstream, resilience.ScopeStream)
)

func TestACompletion(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"} {
		far := func(r *http.Request) (int, http.Header, string) {
			require.Equal(t, "POST http://127.0.0.1:9/v1/chat/completions", r.Method+" "+r.URL.String())
			require.Empty(t, r.Header.Get("Authorization"), "without keys none is sent")
			require.Equal(t, "application/json", r.Header.Get("Content-Type"))
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			var sent map[string]any
			require.NoError(t, json.Unmarshal(body, &sent))
			require.Equal(t, map[string]any{"model": "a-model", "messages": []any{
				map[string]any{"role": "system", "content": "Write."},
				map[string]any{"role": "user", "content": "Artists:\n- Sigur Rós (3)"},
			}}, sent, "nothing that a model could refuse")
			return 200, nil, providertest.Golden(t, "completion.json")
		}
		m := asking(providertest.Client(providertest.Respond(far)), "api_url", base, "model", "a-model")
		got, err := m.Complete(t.Context(), resilience.Call{}, prompt)
		require.NoError(t, err)
		require.Equal(t, providers.Completion{
			Text: "A calm week.\n\nMostly Sigur Rós.", Model: "gpt-4o-mini-2024-07-18",
			PromptTokens: 412, CompletionTokens: 58,
		}, got)
	}
}

func TestACutAnswerIsKeptAndMarked(t *testing.T) {
	t.Parallel()
	got, err := complete(t, providertest.Always(200, providertest.Golden(t, "cut.json")))
	require.NoError(t, err)
	require.True(t, got.Cut)
	require.Equal(t, "A calm week, with", got.Text)
	require.Equal(t, "a-model", got.Model, "the requested model when the answer names none")
	require.Zero(t, got.PromptTokens)
}

func TestReasoningIsCutFromTheAnswer(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"<think>\nHm.\n</think>\n\nA calm week.": "A calm week.",
		"A week of <think> and more":             "A week of <think> and more",
		"\n A \n":                                "A",
	} {
		require.Equal(t, want, written(content))
	}
	require.Empty(t, written("<think>and on and on"))
}

func TestAnEmptyAnswerBreaksTheContract(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty":      `{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
		"null":       `{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}`,
		"thinking":   `{"choices":[{"message":{"content":"<think>Hm"},"finish_reason":"stop"}]}`,
		"no choices": `{"choices":[]}`,
		"no object":  `[]`,
		"no json":    `data: {}`,
		"a number":   `{"choices":[{"message":{"content":7}}]}`,
	} {
		_, err := complete(t, providertest.Always(200, body))
		v := resilience.VerdictOf(err)
		require.Equal(t, [2]any{resilience.Retriable, resilience.Contract}, [2]any{v.Class, v.Category}, name)
		require.EqualValues(t, 3, v.FatalAfter, "it was paid for: three times at most")
	}
}

func TestARefusalReportsItsTokens(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]providers.Completion{
		"200-refusal":                 {PromptTokens: 10, CompletionTokens: 5},
		"200-length":                  {PromptTokens: 400, CompletionTokens: 4000},
		"200-content_filter":          {},
		"400-context_length_exceeded": {},
	} {
		status, err := strconv.Atoi(name[:3])
		require.NoError(t, err)
		got, err := complete(t, providertest.Always(status, providertest.Golden(t, name+".json")))
		require.Error(t, err)
		require.Equal(t, want, got, name)
	}
}

// TestTable has one golden body per row of the error table and per variant of other servers, and checks the verdict of
// each.
func TestTable(t *testing.T) {
	t.Parallel()
	rows := map[string]resilience.Verdict{
		"429-insufficient_quota": quota, "429-credit_balance_exhausted": quota, "429-spend_limit_exceeded": quota,
		"400-billing_hard_limit_reached": quota, "402-payment": quota,
		"429-rate_limit_exceeded": limit, "429-other": limit,
		"401-invalid_api_key": keyAuth, "403-region": config, "404-model_not_found": config, "404-ollama": config,
		"400-context_length_exceeded": item, "400-vllm-context": item, "400-llamacpp-context": item, "413-groq": item,
		"400-content_filter": item, "200-refusal": item, "200-content_filter": item, "200-length": item,
		"200-error":      quota,
		"400-parameter":  contract,
		"503-overloaded": upstream, "500-server_error": upstream,
	}
	files, err := filepath.Glob("testdata/[0-9]*.json")
	require.NoError(t, err)
	require.Len(t, files, len(rows), "every golden refusal has its row")
	for name, want := range rows {
		body := providertest.Golden(t, name+".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var status int
				_, err := fmt.Sscan(name[:3], &status)
				require.NoError(t, err)
				_, err = complete(t, providertest.Always(status, body))
				if want.Category == resilience.Quota {
					want.NotBefore = time.Now().Add(24 * time.Hour)
				}
				require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
				var refusal *resilience.AnswerError
				require.ErrorAs(t, err, &refusal)
				if name != "200-content_filter" && name != "200-length" {
					require.NotEmpty(t, refusal.Message)
				}
				switch want.Category {
				case resilience.Config, resilience.Auth, resilience.Quota:
					require.Regexp(t, "under Settings, This server|billing page", refusal.Meaning.Advice.String())
				}
			})
		})
	}
}

// TestEveryStatusHasAMeaning checks all statuses with a body without a code.
func TestEveryStatusHasAMeaning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own := map[int]resilience.Verdict{400: contract, 401: keyAuth, 402: quota, 403: config, 404: config,
			410: contract, 413: item, 422: contract, 429: limit}
		for status := 400; status < 600; status++ {
			_, err := complete(t, providertest.Always(status, `{}`))
			want, ok := own[status]
			if !ok {
				m := resilience.StatusMeaning(status)
				want = verdict(m.Class, m.Category, m.Scope)
			}
			if want.Category == resilience.Quota {
				want.NotBefore = time.Now().Add(24 * time.Hour)
			}
			require.Equal(t, want, resilience.VerdictOf(err), status)
			_, err = complete(t, providertest.Respond(func(*http.Request) (int, http.Header, string) {
				return status, http.Header{"Content-Type": {"text/html"}}, "<html>"
			}))
			page := upstream
			page.Astray = status < 500 && status != http.StatusTooManyRequests
			require.Equal(t, page, resilience.VerdictOf(err), "an HTML page has no code")
		}
		_, err := complete(t, providertest.Always(200, "<html>Welcome"))
		page := upstream
		page.Astray = true
		require.Equal(t, page, resilience.VerdictOf(err))
	})
}

// TestALimitEndsWhenTheAnswerSays checks that Retry-After comes before the reset of the used-up limit.
func TestALimitEndsWhenTheAnswerSays(t *testing.T) {
	t.Parallel()
	const requests, tokens = "X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"
	const leftRequests, leftTokens = "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Remaining-Tokens"
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"seconds":      {map[string]string{requests: "1s"}, time.Second},
		"minutes":      {map[string]string{tokens: "6m0s"}, 6 * time.Minute},
		"milliseconds": {map[string]string{requests: "20ms"}, 20 * time.Millisecond},
		"a fraction":   {map[string]string{requests: "8.64s"}, 8640 * time.Millisecond},
		"days":         {map[string]string{requests: "1d2h"}, 26 * time.Hour},
		"a number":     {map[string]string{tokens: "12"}, 12 * time.Second},
		"the later":    {map[string]string{requests: "1s", tokens: "3s"}, 3 * time.Second},
		"the used-up limit": {map[string]string{requests: "1h0m0s", leftRequests: "9", tokens: "3s", leftTokens: "0"},
			3 * time.Second},
		"Retry-After":        {map[string]string{"Retry-After": "7", requests: "1s"}, 7 * time.Second},
		"none":               {nil, 0},
		"nonsense":           {map[string]string{requests: "soon", tokens: "-1s"}, 0},
		"zero":               {map[string]string{requests: "0s"}, 0},
		"too long":           {map[string]string{requests: "30d"}, 0},
		"a bad Retry-After":  {map[string]string{"Retry-After": "soon", requests: "5s"}, 0},
		"of an unused limit": {map[string]string{requests: "5s", leftRequests: "9", tokens: "0", leftTokens: "0"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				header := http.Header{}
				for k, v := range c.header {
					header.Set(k, v)
				}
				body := providertest.Golden(t, "429-rate_limit_exceeded.json")
				_, err := complete(t, providertest.Respond(func(*http.Request) (int, http.Header, string) {
					return 429, header, body
				}))
				v := resilience.VerdictOf(err)
				require.Equal(t, resilience.RateLimit, v.Category)
				if c.want == 0 {
					require.Zero(t, v.NotBefore)
				} else {
					require.Equal(t, time.Now().Add(c.want), v.NotBefore)
				}
			})
		})
	}
}

func TestASpentAccountWaitsADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body := providertest.Golden(t, "429-insufficient_quota.json")
		_, err := complete(t, providertest.Respond(func(*http.Request) (int, http.Header, string) {
			return 429, http.Header{"Retry-After": {"1"}, "X-Ratelimit-Reset-Requests": {"1s"}}, body
		}))
		require.Equal(t, time.Now().Add(24*time.Hour), resilience.VerdictOf(err).NotBefore)
	})
}

// TestKeysTakeTurns expects a repeated request with the next key when one is spent or refused, and no key in errors.
func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own := []keys.Key{{Secret: "key-one-1111"}, {Secret: "key-two-2222"}, {Secret: "key-three-3333"}}
		pool := keys.New("openai", own, backoff.Options{})
		answers := map[string]string{
			"1111": "401-invalid_api_key", "2222": "429-insufficient_quota", "3333": "completion",
		}
		var used []string
		far := providertest.Respond(func(r *http.Request) (int, http.Header, string) {
			key := r.Header.Get("Authorization")
			require.True(t, strings.HasPrefix(key, "Bearer key-"))
			last := key[len(key)-4:]
			used = append(used, last)
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), "Sigur Rós", "the whole request is sent again")
			status := 200
			_, _ = fmt.Sscan(answers[last][:3], &status)
			return status, nil, providertest.Golden(t, answers[last]+".json")
		})
		client := transport.NewClient(&keys.Transport{Base: providertest.Client(far).Transport, Pool: pool,
			Put: putKey, Advice: keyAdvice, Spent: spentAdvice})
		c := asking(client, "model", "a-model")
		got, err := c.Complete(t.Context(), resilience.Call{}, prompt)
		require.NoError(t, err)
		require.NotEmpty(t, got.Text)
		require.Equal(t, []string{"1111", "2222", "3333"}, used)

		answers["3333"] = "429-insufficient_quota"
		_, err = c.Complete(t.Context(), resilience.Call{}, prompt)
		require.NotContains(t, err.Error(), "key-")
		var short *keys.Error
		require.ErrorAs(t, err, &short)
		require.Contains(t, short.Advice.String(), "billing page")
		require.Equal(t, resilience.Verdict{Class: retriable, Category: resilience.Quota, Scope: resilience.ScopeApp,
			NotBefore: time.Now().Add(24 * time.Hour)}, resilience.VerdictOf(err))
		require.Len(t, used, 4)
		require.Same(t, pool, providertest.NewIn(providers.Installation{Keys: pool}, Describe()).Keys)
	})
}

func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	_, err := complete(t, failing{errors.New("connection refused")})
	require.Equal(t, verdict(retriable, resilience.Network, resilience.ScopeConnection), resilience.VerdictOf(err))
	_, err = asking(providertest.Client(failing{}), "api_url", "http://a b/").Complete(t.Context(), resilience.Call{},
		prompt)
	require.Equal(t, config, resilience.VerdictOf(err))
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// slow answers after a while, unless the request has ended by then.
type slow struct {
	after time.Duration
	then  http.RoundTripper
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.after):
		return s.then.RoundTrip(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func TestAModelAtHomeMayTakeMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := providertest.Always(http.StatusOK, providertest.Golden(t, "completion.json"))
		_, err := complete(t, slow{4 * time.Minute, answer})
		require.NoError(t, err)
		_, err = complete(t, slow{6 * time.Minute, answer})
		require.Equal(t, resilience.Network, resilience.VerdictOf(err).Category, "but not for ever")
	})
}
