package server_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server"
	"reprise/internal/server/servertest"
	"reprise/web/static"
)

// Pages and lists travel compressed; streams of events, small answers and what is compressed already as they are.
func TestAnswersTravelCompressed(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	style, _ := static.URL("app.css")
	for path, want := range map[string]string{"/settings": "gzip", "/api/v1/openapi.yaml": "gzip", "/livez": "",
		style: "br"} {
		plain, packed := coded(h, path, ""), coded(h, path, "gzip, deflate, br, zstd")
		require.Equal(t, http.StatusOK, packed.Code, path)
		require.Equal(t, want, packed.Header().Get("Content-Encoding"), path)
		require.Contains(t, packed.Header().Values("Vary"), "Accept-Encoding", path)
		require.Empty(t, plain.Header().Get("Content-Encoding"), path)
		if want != "" {
			require.Less(t, packed.Body.Len(), plain.Body.Len()/2, path)
			var z io.Reader = brotli.NewReader(packed.Body)
			if want == "gzip" {
				var err error
				z, err = gzip.NewReader(packed.Body)
				require.NoError(t, err)
			}
			b, err := io.ReadAll(z)
			require.NoError(t, err)
			end := plain.Body.String()[plain.Body.Len()-100:]
			require.True(t, strings.HasSuffix(string(b), end), path)
		}
	}
	for kind, want := range map[string]bool{"text/html; charset=utf-8": true, "application/problem+json": true,
		"image/svg+xml": true, "application/x-ndjson": true, "text/event-stream": false, "image/webp": false,
		"application/zip": false, "application/octet-stream": false} {
		require.Equal(t, want, server.Shrinks(kind), kind)
	}
}

// coded asks for a page as a browser that takes some codings.
func coded(h *servertest.Household, path, codings string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, h.BaseURL+path, nil)
	r.Header.Set("Accept-Encoding", codings)
	w := httptest.NewRecorder()
	h.Server.ServeHTTP(w, r)
	return w
}
