package server

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"reprise/web/static"
)

// jitter is up to how many bytes are added to a compressed answer, so that its length says little about a secret in it.
const jitter = 32

// compressed returns a handler that compresses the answers of next, for those who take that. Streams of events are not
// compressed, nor is what is already: pictures, archives, and the files that web/static compresses once.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(5),
		gzhttp.RandomJitter(jitter, 0, false), gzhttp.ContentTypeFilter(shrinks))
	if err != nil {
		panic("server: " + err.Error()) // the options are constants
	}
	packing := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if strings.HasPrefix(path, "/api/v1/events") || strings.HasPrefix(path, static.Prefix) {
			next.ServeHTTP(w, r)
			return
		}
		packing.ServeHTTP(w, r)
	})
}

// shrinks says whether answers of a type become smaller: texts, but not pictures and archives.
func shrinks(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	if strings.HasPrefix(kind, "text/") {
		return kind != "text/event-stream"
	}
	for _, text := range []string{"json", "yaml", "xml", "javascript"} {
		if strings.HasSuffix(kind, text) {
			return true
		}
	}
	return false
}
