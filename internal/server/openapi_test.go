package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/web"
)

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(Config{BaseURL: "http://127.0.0.1:8420", OwnNames: []string{"example.com"},
		Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return s
}

// The description of the API has every call, and no other.
func TestOpenAPIAndRoutesAgree(t *testing.T) {
	var description struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	require.NoError(t, yaml.Unmarshal(web.OpenAPI(nil, nil), &description))
	var described, served []string
	for path, operations := range description.Paths {
		for method := range operations {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range newServer(t).echo.Routes() {
		path, ours := strings.CutPrefix(r.Path, "/api/v1")
		if !ours || !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete}, r.Method) || strings.Contains(path, "*") || path == "" {
			continue
		}
		served = append(served, r.Method+" "+param.ReplaceAllString(path, "{$1}"))
	}
	require.ElementsMatch(t, served, described)
}

func TestOpenAPINamesTheProviders(t *testing.T) {
	t.Parallel()
	registry := providers.NewRegistry()
	for _, name := range []string{"spotify", "radio"} {
		registry.Replace(&providers.Provider{Description: providers.Description{Name: name}})
	}
	s, err := New(Config{BaseURL: "http://127.0.0.1:8420", OwnNames: []string{"example.com"},
		Log: slog.New(slog.DiscardHandler), Registry: registry})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	s.echo.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/openapi.yaml", nil))
	var described struct {
		Components struct {
			Parameters map[string]struct{ Schema struct{ Enum []string } }
		}
	}
	require.NoError(t, yaml.Unmarshal(w.Body.Bytes(), &described))
	require.Equal(t, []string{"spotify", "radio"}, described.Components.Parameters["Provider"].Schema.Enum)
	require.Contains(t, w.Body.String(), "enum: [spotify] }", "those whose exports can be imported")
	require.NotContains(t, w.Body.String(), "{exports}")
}
