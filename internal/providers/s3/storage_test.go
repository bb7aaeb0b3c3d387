package s3_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/s3"
	"reprise/internal/resilience"
)

var geoff = library.Credentials{"endpoint": "https://s3.example.org", "bucket": "music",
	"access_key": "geoff-access-key", "secret_key": "correct-horse-battery"}

// storage is an S3 server in memory. Each access key has its own objects, so that tests are independent.
type storage struct {
	// foreign makes ETags that are not checksums of the body, as in encrypting storages.
	foreign bool
	// before is called for every request first. If it returns a status, its answer is used.
	before func(*http.Request) (status int, header http.Header, body string)

	mu      sync.Mutex
	objects map[string]*stored
	writes  int
	sent    []string // methods, and conditions of writes
}

type stored struct {
	body, etag, kind, sum string
}

func (s *storage) respond(req *http.Request) (int, http.Header, string) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	s.note(req)
	if s.before != nil {
		if status, header, answer := s.before(req); status != 0 {
			if req.Method == http.MethodHead {
				answer = ""
			}
			return status, header, answer
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(req)
	o := s.objects[key]
	switch req.Method {
	case http.MethodPut:
		return s.putLocked(req, key, body)
	case http.MethodDelete:
		delete(s.objects, key)
		return http.StatusNoContent, nil, ""
	}
	if o == nil {
		return http.StatusNotFound, nil, ""
	}
	header := http.Header{"Etag": {`"` + o.etag + `"`}, "Last-Modified": {"Sat, 21 Nov 2026 06:33:00 GMT"},
		"Content-Length": {strconv.Itoa(len(o.body))},
		"Content-Type":   {o.kind}, "X-Amz-Meta-Reprise-Sha256": {o.sum}}
	if req.Method == http.MethodHead {
		return http.StatusOK, header, ""
	}
	return http.StatusOK, header, o.body
}

func (s *storage) note(req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var what strings.Builder
	what.WriteString(req.Method)
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if v := req.Header.Get(name); v != "" {
			what.WriteString(" " + name)
		}
	}
	s.sent = append(s.sent, what.String())
}

func (s *storage) putLocked(req *http.Request, key string, body []byte) (int, http.Header, string) {
	o, sum := s.objects[key], md5.Sum(body)
	match, none := req.Header.Get("If-Match"), req.Header.Get("If-None-Match")
	switch {
	case req.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]):
		return http.StatusBadRequest, nil, refusal("BadDigest")
	case none == "*" && o != nil, match != "" && o != nil && match != `"`+o.etag+`"`:
		return http.StatusPreconditionFailed, nil, refusal("PreconditionFailed")
	case match != "" && o == nil:
		return http.StatusNotFound, nil, refusal("NoSuchKey")
	}
	s.storeLocked(key, string(body), req.Header.Get("Content-Type"), req.Header.Get("X-Amz-Meta-Reprise-Sha256"))
	return http.StatusOK, http.Header{"Etag": {`"` + s.objects[key].etag + `"`}}, ""
}

func (s *storage) storeLocked(key, body, kind, sum string) {
	hash := md5.Sum([]byte(body))
	o := &stored{body: body, etag: hex.EncodeToString(hash[:]), kind: kind, sum: sum}
	s.writes++
	if s.foreign {
		o.etag = fmt.Sprintf("%032d-1", s.writes)
	}
	if s.objects == nil {
		s.objects = map[string]*stored{}
	}
	s.objects[key] = o
}

// write writes an object as another client.
func (s *storage) write(name, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storeLocked("geoff-access-key /music/reprise/"+name, body, "text/plain", "")
}

func (s *storage) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, "geoff-access-key /music/reprise/"+name)
}

func (s *storage) body(t *testing.T, name string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects["geoff-access-key /music/reprise/"+name]
	require.NotNil(t, o)
	return o.body
}

func (s *storage) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

func (s *storage) open() providers.Adapter { return s.openFor(resilience.Call{}) }

// openFor opens an adapter for such a call.
func (s *storage) openFor(call resilience.Call) providers.Adapter {
	call.Client = providertest.Client(providertest.Respond(s.respond))
	return providertest.New(s3.Describe()).Open(call, geoff)
}

// keyOf returns the access key and the path of a request, which identify an object.
func keyOf(req *http.Request) string {
	_, credential, _ := strings.Cut(req.Header.Get("Authorization"), "Credential=")
	owner, _, _ := strings.Cut(credential, "/")
	return owner + " " + req.URL.Path
}

func refusal(code string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>No.</Message></Error>", code)
	return b.String()
}
