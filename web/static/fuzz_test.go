package static

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzStaticFiles requires that every path and every kind of conditional or partial request for a static file has one
// of the answers that it may have.
func FuzzStaticFiles(f *testing.F) {
	for _, path := range []string{"app.css", "../web.go", "%2e%2e/web.go", "", "/", "app.css/", "\x00"} {
		f.Add(path, "bytes=0-10", "If-None-Match", `W/"x"`)
		f.Add(path, "bytes=-1,0-0,5-,9999999999999999999-", "If-Range", "Mon, 02 Jan 2006 15:04:05 GMT")
		f.Add(path, "bytes=0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0", "If-Modified-Since", "x")
	}
	files := Handler()
	f.Fuzz(func(t *testing.T, path, ranges, condition, value string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: Prefix + path}, Header: http.Header{
			"Range": {ranges}, http.CanonicalHeaderKey(condition): {value}}}
		w := httptest.NewRecorder()
		files.ServeHTTP(w, r)
		require.True(t, slices.Contains([]int{200, 206, 301, 304, 400, 404, 412, 416}, w.Code), "%d", w.Code)
		require.Less(t, w.Body.Len(), 1<<20)
	})
}
