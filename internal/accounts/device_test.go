package accounts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestBrowserInWords(t *testing.T) {
	t.Parallel()
	const webkit = "AppleWebKit/537.36 (KHTML, like Gecko) "
	for header, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0": "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit +
			"Chrome/142.0.0.0 Safari/537.36": "Chrome on Windows",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) " + webkit +
			"Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0": "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 10; K) " + webkit +
			"Chrome/142.0.0.0 Mobile Safari/537.36": "Chrome on Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/26.1 Safari/605.1.15": "Safari on macOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/26.1 Mobile/15E148 Safari/604.1": "Safari on an iPhone",
		"curl/8.14.1":               "curl",
		"python-requests/2.32":      "python-requests",
		"Go-http-client/1.1":        "Go-http-client",
		"":                          "a program",
		"<script>alert(1)</script>": "a program",
		"Mozilla/5.0":               "a program",
		"Firefox/":                  "Firefox",
		"a-name-that-is-far-too-long-for-a-table": "a-name-that-is-far-too-long-for",
	} {
		require.Equal(t, want, Agent(header), header)
	}
}

func TestASignInIsSaidInBothLanguages(t *testing.T) {
	t.Parallel()
	for visit, want := range map[string][2]string{
		Visit("Firefox on Linux", "192.0.2.7"): {"Firefox on Linux from 192.0.2.7", "Firefox auf Linux (192.0.2.7)"},
		Visit("Safari on an iPhone", "::1"):    {"Safari on an iPhone from ::1", "Safari auf einem iPhone (::1)"},
		Visit(Agent(""), "192.0.2.7"):          {"a program from 192.0.2.7", "einem Programm (192.0.2.7)"},
		"something older":                      {"something older", "something older"},
	} {
		require.Equal(t, want, [2]string{VisitOf(visit).In(words.English), VisitOf(visit).In(words.German)})
	}
}
