package server_test

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
	"reprise/internal/server"
	"reprise/internal/server/servertest"
)

func newServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"},
		OwnNames: []string{"example.com"}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return s
}

// The description of the API has every call, and no other.
func TestOpenAPIAndRoutesAgree(t *testing.T) {
	var description struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	require.NoError(t, yaml.Unmarshal(servertest.APIText(), &description))
	var described, served []string
	for path, operations := range description.Paths {
		for method := range operations {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range newServer(t).Router().Routes() {
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
	s, err := server.New(server.Config{Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"},
		OwnNames: []string{"example.com"}, Log: slog.New(slog.DiscardHandler), Registry: registry})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/openapi.yaml", nil))
	type parameters []struct {
		Name   string
		Schema struct{ Enum []string }
	}
	var description struct {
		Paths map[string]map[string]struct{ Parameters parameters }
	}
	require.NoError(t, yaml.Unmarshal(w.Body.Bytes(), &description))
	choices := map[string][]string{}
	for _, path := range []string{"/imports"} {
		for _, p := range description.Paths[path]["post"].Parameters {
			if p.Name == "provider" {
				choices[path] = p.Schema.Enum
			}
		}
	}
	require.Equal(t, map[string][]string{"/imports": {"spotify", "lastfm", "listenbrainz", "koito", "maloja", "youtube",
		"applemusic", "deezer", "tidal", "rockbox", "multiscrobbler", "reprise", "file"}}, choices,
		"also of those that nobody connects")
}

// Programs that make a client from the description name its calls by these ids, and read problems of each of them.
func TestEveryCallSaysWhatItIsAndRefuses(t *testing.T) {
	t.Parallel()
	type response struct {
		Ref     string `yaml:"$ref"`
		Content map[string]any
	}
	var description struct {
		Paths      map[string]map[string]yaml.RawMessage
		Components struct{ Responses map[string]response }
	}
	require.NoError(t, yaml.Unmarshal(servertest.APIText(), &description))
	ids := map[string]string{}
	for path, operations := range description.Paths {
		for method, text := range operations {
			if method == "parameters" {
				continue
			}
			var call struct {
				ID        string `yaml:"operationId"`
				Security  *[]any
				Responses map[string]response
			}
			name := strings.ToUpper(method) + " " + path
			require.NoError(t, yaml.Unmarshal(text, &call), name)
			require.Regexp(t, `^[a-z][A-Za-z]+$`, call.ID, "operationId of %s", name)
			require.Empty(t, ids[call.ID], "%s has the operationId of another call", name)
			ids[call.ID] = name
			refusals := []string{"400", "default"}
			if call.Security == nil || len(*call.Security) > 0 {
				refusals = append(refusals, "401", "403")
			}
			if strings.Contains(path, "{") {
				refusals = append(refusals, "404")
			}
			for _, status := range refusals {
				require.Contains(t, call.Responses, status, name)
			}
			for status, r := range call.Responses {
				if status >= "4" {
					if ref, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
						r = description.Components.Responses[ref]
					}
					require.Contains(t, r.Content, "application/problem+json", "%s, %s", name, status)
				}
			}
		}
	}
}
