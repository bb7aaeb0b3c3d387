package providertest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

func TestUpstream(t *testing.T) {
	t.Parallel()
	call := Call(Routes(map[string]Respond{
		"GET /list":      Always(200, `{"items":[]}`),
		"GET /list/{id}": func(r *http.Request) (int, http.Header, string) { return 200, nil, r.URL.Path },
		"GET /busy": func(*http.Request) (int, http.Header, string) {
			return 429, http.Header{"Retry-After": {"7"}}, `{}`
		},
		"POST /list/{id}": func(*http.Request) (int, http.Header, string) { return 204, nil, "" },
	}))
	tests := []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/list", 200, `{"items":[]}`},
		{"GET", "/list/7", 200, "/list/7"},
		{"POST", "/list/7", 204, ""},
		{"GET", "/busy", 429, ""},
		{"GET", "/other", 404, ""},
		{"DELETE", "/list", 404, ""},
	}
	for _, tt := range tests {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "https://example.org"+tt.path,
			strings.NewReader("x"))
		require.NoError(t, err)
		answer, err := call.Send(req, resilience.Endpoint{Name: tt.method + " " + tt.path})
		if tt.status >= 400 {
			var refusal *resilience.AnswerError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, tt.status, refusal.Status)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.status, answer.Status)
		require.Equal(t, tt.body, string(answer.Body))
	}
}

func TestUpstreamEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.org/", nil)
	require.NoError(t, err)
	_, err = Call(Always(200, `{}`)).Send(req, resilience.Endpoint{Name: "GET /"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestSwapTypes(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"a":true,"b":["not","a","bool"]}`, swapTypes(`{"a":[1],"b":false}`))
	require.JSONEq(t, `{"items":true}`, swapTypes(`[1,2]`))
}

func TestNonsense(t *testing.T) {
	t.Parallel()
	const body = `{"a":[{"b":1}],"c":"x"}`
	seen := map[string]bool{}
	for n := 0; ; n++ {
		other, ok := nonsense(body, n)
		if !ok {
			require.Equal(t, 5*len(odd)+4, n, "each of five values is replaced, and each but the whole left out")
			break
		}
		seen[other] = true
	}
	for _, want := range []string{
		`null`, `{"c":"x"}`, `{"a":[],"c":"x"}`, `{"a":[{}],"c":"x"}`, `{"a":[{"b":-1}],"c":"x"}`,
		`{"a":[{"b":1}],"c":true}`,
	} {
		require.Contains(t, seen, want)
	}
	_, ok := nonsense("<html>", 0)
	require.False(t, ok)
}
