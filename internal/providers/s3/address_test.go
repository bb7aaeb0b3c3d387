package s3_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/s3"
)

// with returns geoff's credentials with one of them changed.
func with(field, typed string) library.Credentials {
	c := maps.Clone(geoff)
	c[field] = typed
	return c
}

// TestAddresses checks the URL of requests for typed addresses.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]struct{ app, asked string }{
		"": {"s3.amazonaws.com", "https://music.s3.us-east-1.amazonaws.com/reprise/x"},
		"https://s3.eu-central-1.amazonaws.com": {"s3.eu-central-1.amazonaws.com",
			"https://music.s3.eu-central-1.amazonaws.com/reprise/x"},
		"s3-eu-west-1.amazonaws.com": {"s3-eu-west-1.amazonaws.com",
			"https://music.s3.eu-west-1.amazonaws.com/reprise/x"},
		"s3.cn-north-1.amazonaws.com.cn": {"s3.cn-north-1.amazonaws.com.cn",
			"https://music.s3.cn-north-1.amazonaws.com.cn/reprise/x"},
		"s3.dualstack.eu-west-1.amazonaws.com": {"s3.dualstack.eu-west-1.amazonaws.com",
			"https://music.s3.dualstack.eu-west-1.amazonaws.com/reprise/x"},
		"storage.googleapis.com":     {"storage.googleapis.com", "https://music.storage.googleapis.com/reprise/x"},
		" https://S3.Example.org/ ":  {"s3.example.org", "https://s3.example.org/music/reprise/x"},
		"https://s3.example.org:443": {"s3.example.org", "https://s3.example.org/music/reprise/x"},
		"http://s3.example.org:80":   {"s3.example.org", "http://s3.example.org/music/reprise/x"},
		"s3.example.org:9000":        {"s3.example.org:9000", "https://s3.example.org:9000/music/reprise/x"},
		"192.168.1.5:9000":           {"192.168.1.5:9000", "http://192.168.1.5:9000/music/reprise/x"},
		"localhost:9000":             {"localhost:9000", "http://localhost:9000/music/reprise/x"},
		"http://[::1]:9000":          {"[::1]:9000", "http://[::1]:9000/music/reprise/x"},
	} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want.app, providertest.New(s3.Describe()).App(with("endpoint", typed)))
			require.Equal(t, want.asked, asked(t, with("endpoint", typed)))
		})
	}
	require.Empty(t, providertest.New(s3.Describe()).App(with("endpoint", "::")))
	dotted := with("bucket", "my.music") // Amazon's certificate does not hold for such a host
	dotted["endpoint"] = ""
	require.Equal(t, "https://s3.us-east-1.amazonaws.com/my.music/reprise/x", asked(t, dotted))
}

func TestFolders(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"":            "/music/reprise/x",
		"/":           "/music/x",
		"archive":     "/music/archive/x",
		" /a//b/./c ": "/music/a/b/c/x",
		"Müsik/":      "/music/M%C3%BCsik/x",
	} {
		require.Equal(t, "https://s3.example.org"+want, asked(t, with("prefix", typed)), typed)
		call := providertest.Call(providertest.Respond((&storage{}).respond))
		account, err := providertest.New(s3.Describe()).Open(call, with("prefix", typed)).Prove(t.Context())
		require.NoError(t, err)
		learned := with("prefix", account.Learned["prefix"])
		require.Equal(t, "https://s3.example.org"+want, asked(t, learned), "the learned prefix means the same")
	}
}

// asked returns the URL of the first request.
func asked(t *testing.T, c library.Credentials) string {
	t.Helper()
	address := ""
	call := providertest.Call(providertest.Respond(func(req *http.Request) (int, http.Header, string) {
		address = req.URL.String()
		return 503, nil, ""
	}))
	_, err := keep(t.Context(), providertest.New(s3.Describe()).Open(call, c), "x", october)
	require.Error(t, err)
	return address
}
