package s3_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers/providertest"
	"reprise/internal/providers/s3"
	"reprise/internal/resilience"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]bool{"ETags are checksums": false, "ETags are no checksums": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storage{foreign: foreign}
			first, err := keep(t.Context(), s.open(), "x", october)
			require.NoError(t, err)
			require.Equal(t, []string{"HEAD", "PUT If-None-Match", "HEAD"}, s.take())
			again, err := keep(t.Context(), s.open(), "x", october)
			require.NoError(t, err)
			require.Equal(t, first, again)
			require.Equal(t, []string{"HEAD"}, s.take(), "not written again")
			second, err := keep(t.Context(), s.open(), "x", november)
			require.NoError(t, err)
			require.NotEqual(t, first, second)
			require.Equal(t, []string{"HEAD", "PUT If-Match", "HEAD"}, s.take())
			require.Equal(t, november, s.body(t, "x"))

			s.write("x", october+october) // another size than ours, without our metadata
			_, err = keep(t.Context(), s.open(), "x", november)
			require.NoError(t, err)
			require.Equal(t, november, s.body(t, "x"))
		})
	}
}

// TestConcurrentWrites changes or removes the object between our read and our write.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there  string
		meddle func(*storage)
	}{
		"makes it":       {"", func(s *storage) { s.write("x", "theirs") }},
		"changes it":     {"old", func(s *storage) { s.write("x", "theirs") }},
		"removes it":     {"old", func(s *storage) { s.remove("x") }},
		"makes the same": {"", func(s *storage) { s.write("x", november) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storage{}
			if c.there != "" {
				s.write("x", c.there)
			}
			times := 1
			s.before = func(req *http.Request) (int, http.Header, string) {
				if req.Method == http.MethodPut && times > 0 {
					times--
					c.meddle(s)
				}
				return 0, nil, ""
			}
			_, err := keep(t.Context(), s.open(), "x", november)
			require.NoError(t, err)
			require.Equal(t, november, s.body(t, "x"))
		})
	}
}

// TestRepeatedConcurrentWrites expects a retriable error and no overwritten change.
func TestRepeatedConcurrentWrites(t *testing.T) {
	t.Parallel()
	t.Run("writing before us", func(t *testing.T) {
		t.Parallel()
		s := &storage{}
		n := 0
		s.before = func(req *http.Request) (int, http.Header, string) {
			if req.Method == http.MethodPut {
				n++
				s.write("x", string(rune('a'+n)))
			}
			return 0, nil, ""
		}
		_, err := keep(t.Context(), s.open(), "x", november)
		requireRow(t, err, "PreconditionFailed", 412, upstream, "at the same time")
		require.Equal(t, []string{"HEAD", "PUT If-None-Match", "HEAD", "PUT If-Match"}, s.take(),
			"looked again and tried once more")
		require.Equal(t, "c", s.body(t, "x"), "the concurrent change is kept")
	})
	t.Run("writing after us", func(t *testing.T) {
		t.Parallel()
		s := &storage{}
		heads := 0
		s.before = func(req *http.Request) (int, http.Header, string) {
			if req.Method == http.MethodHead {
				if heads++; heads%2 == 0 {
					s.write("x", "theirs")
				}
			}
			return 0, nil, ""
		}
		_, err := keep(t.Context(), s.open(), "x", november)
		requireRow(t, err, "ChangedMeanwhile", 200, upstream, "at the same time")
		require.Equal(t, 4, heads)
	})
}

// TestAServerWithoutConditions stores the object, without further conditional writes.
func TestAServerWithoutConditions(t *testing.T) {
	t.Parallel()
	s := &storage{before: func(req *http.Request) (int, http.Header, string) {
		if req.Header.Get("If-Match")+req.Header.Get("If-None-Match") != "" {
			return http.StatusNotImplemented, nil, golden("NotImplemented")
		}
		return 0, nil, ""
	}}
	a := s.open()
	_, err := keep(t.Context(), a, "x", october)
	require.NoError(t, err)
	require.Equal(t, []string{"HEAD", "PUT If-None-Match", "PUT", "HEAD"}, s.take())
	_, err = keep(t.Context(), a, "x", november)
	require.NoError(t, err)
	require.Equal(t, []string{"HEAD", "PUT", "HEAD"}, s.take())
	require.Equal(t, november, s.body(t, "x"))
}

// TestAKeyThatMayNotList gets a 403 without a body for a missing object.
func TestAKeyThatMayNotList(t *testing.T) {
	t.Parallel()
	s := &storage{}
	s.before = func(req *http.Request) (int, http.Header, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if req.Method == http.MethodHead && s.objects[keyOf(req)] == nil {
			return http.StatusForbidden, nil, ""
		}
		return 0, nil, ""
	}
	_, err := keep(t.Context(), s.open(), "x", october)
	require.NoError(t, err)
	require.Equal(t, october, s.body(t, "x"))
}

// TestAKeyThatMayNotRead expects no overwritten object, and no success for an unverified write.
func TestAKeyThatMayNotRead(t *testing.T) {
	t.Parallel()
	s := &storage{before: func(req *http.Request) (int, http.Header, string) {
		if req.Method == http.MethodHead {
			return http.StatusForbidden, nil, ""
		}
		return 0, nil, ""
	}}
	for range 2 {
		_, err := keep(t.Context(), s.open(), "x", october)
		requireRow(t, err, "", 403, permission, "must be able to read")
	}
	require.Equal(t, 1, s.writes)
}

// TestATruncatedObject expects a contract error when the server reports success but stored only a part.
func TestATruncatedObject(t *testing.T) {
	t.Parallel()
	s := &storage{foreign: true}
	s.before = func(req *http.Request) (int, http.Header, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if o := s.objects[keyOf(req)]; o != nil {
			o.body, o.sum = o.body[:len(o.body)/2], ""
		}
		return 0, nil, ""
	}
	_, err := keep(t.Context(), s.open(), "x", october)
	require.Equal(t, &resilience.ContractError{Endpoint: "HEAD /{bucket}/{key}", What: "another size than was " +
		"written"}, err)
}

// TestAServerThatDropsOurMetadata trusts the ETag of a verified write.
func TestAServerThatDropsOurMetadata(t *testing.T) {
	t.Parallel()
	s := &storage{foreign: true}
	s.before = func(req *http.Request) (int, http.Header, string) {
		req.Header.Del("X-Amz-Meta-Reprise-Sha256")
		return 0, nil, ""
	}
	etag, err := keep(t.Context(), s.open(), "x", october)
	require.NoError(t, err)
	require.NotEmpty(t, etag)
}

func TestAWrongFormMakesNoCall(t *testing.T) {
	t.Parallel()
	call := providertest.Call(roundTripper(func(*http.Request) (*http.Response, error) { panic("called") }))
	for name, c := range map[string]struct{ field, typed, setting string }{
		"no web address": {"endpoint", "::", "endpoint"},
		"another scheme": {"endpoint", "ftp://s3.example.org", "endpoint"},
		"keys in the address": {"endpoint", "https://geoff-access-key:correct-horse-battery@s3.example.org",
			"endpoint"},
		"bucket in the address":  {"endpoint", "https://s3.example.org/music", "endpoint"},
		"no host name":           {"endpoint", "https://s3 example", "endpoint"},
		"a host that is none":    {"endpoint", "https://-", "endpoint"},
		"no bucket":              {"bucket", " ", "bucket"},
		"no bucket's name":       {"bucket", "music/reprise", "bucket"},
		"no access key":          {"access_key", "", "access_key"},
		"access key with a line": {"access_key", "geoff\nHost: evil", "access_key"},
		"no secret key":          {"secret_key", "", "secret_key"},
		"no region":              {"region", "Frankfurt, Germany", "region"},
		"out of the bucket":      {"prefix", "../other", "prefix"},
		"a line in the folder":   {"prefix", "a\nb", "prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := providertest.New(s3.Describe()).Open(call, with(c.field, c.typed))
			_, proof := a.Prove(t.Context())
			_, err := keep(t.Context(), a, "x", october)
			for _, err := range []error{proof, err} {
				require.IsType(t, &resilience.SettingError{}, err)
				require.Equal(t, c.setting, err.(*resilience.SettingError).Setting)
				requireNoSecret(t, err)
			}
		})
	}
}
