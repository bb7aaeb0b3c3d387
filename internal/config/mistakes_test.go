package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
)

func TestAllMistakesAreListed(t *testing.T) {
	t.Parallel()
	file := write(t, "listen: 8420\nsync: {workers: many, listen_every: 5m}\nadmin_token: short")
	_, err := load(file, []string{"REPRISE_LOG_LEVEL=warning", "REPRISE_BACKOFF_MAX=1s", "REPRISE_SYNC_WORKER=3",
		"REPRISE_BREAKER_MAX_OPEN=30s"},
		map[string]string{"base_url": "music.example.org"})
	problems, ok := err.(Problems)
	require.True(t, ok)
	require.Equal(t, Problems{
		file + `: there is no setting "sync.listen_every"; did you mean "sync.listens_every"?`,
		`There is no setting for the environment variable REPRISE_SYNC_WORKER; did you mean "REPRISE_SYNC_WORKERS"?`,
		`listen (` + file + `): “8420” is not an address such as 127.0.0.1:8420 or :8420.`,
		`base_url (the command line): “music.example.org” is not an address that begins with http:// or https://.`,
		`admin_token (` + file + `): It needs at least 16 characters. Leave it empty to have none.`,
		`log.level (REPRISE_LOG_LEVEL): “warning” isn't one of debug, info, warn, error; did you mean “warn”?`,
		`sync.workers (` + file + `): “many” is not a whole number from 1 to 1000.`,
		`backoff.max (1s) must not be shorter than backoff.base (30s).`,
		`breaker.max_open (30s) must not be shorter than breaker.cooldown (1m0s). ` +
			`Set both to the same value for one probe every 1m0s.`,
	}, problems)
	require.Equal(t, strings.Join(problems, "\n"), err.Error())
}

func TestOneMistake(t *testing.T) {
	t.Parallel()
	cases := []struct{ path, text, want string }{
		{"listen", "localhost", "is not an address"},
		{"listen", "localhost:http", "is not an address"},
		{"listen", "127.0.0.1:65536", "is not an address"},
		{"listen", "127.0.0.1:-1", "is not an address"},
		{"listen", "::1:8420", "is not an address"},
		{"base_url", "ftp://x", "http:// or https://"},
		{"base_url", "http://", "http:// or https://"},
		{"base_url", "http://:80", "http:// or https://"},
		{"base_url", "http://a b", "http:// or https://"},
		{"base_url", "https://x/?a=b", "can't have a part that begins with"},
		{"base_url", "https://x/#a", "can't have a part that begins with"},
		{"base_url", "https://x/m%C3%BCsic", "can only have letters without accents"},
		{"base_url", "https://x/my music", "can only have letters without accents"},
		{"base_url", "https://x/a//b", "can only have letters without accents"},
		{"base_url", "https://x/a/../b", "can only have letters without accents"},
		{"base_url", "https://me:hunter2@x", "can't contain a username or password"},
		{"base_url", "ftp://me:hunter2@x", "can't contain a username or password"},
		{"database_url", "reprise", "postgres://user:password@host:5432/database"},
		{"database_url", "mysql://reprise:hunter2@db.home/reprise", "postgres://user:password@host:5432/database"},
		{"database_url", "postgres://reprise:hunter2@db.home:5432", "postgres://user:password@host:5432/database"},
		{"database_url", "postgres://reprise:p@hunter2@db.home/reprise", "%40 for @"},
		{"database_url", "postgres://reprise:12/hunter2@db.home/reprise", "%40 for @"},
		{"database_url", "postgres://reprise:12?hunter2@db.home/reprise", "%40 for @"},
		{"database_url", "postgres://reprise:hunter2%@db.home/reprise", "%40 for @"},
		{"contact", "me", "Enter an e-mail address"},
		{"contact", "Me <me@example.org>", "Enter an e-mail address"},
		{"contact", "me@example.org\r\nX-Other: 1", "Enter an e-mail address"},
		{"contact", "me@example.org, you@example.org", "Enter an e-mail address"},
		{"contact", "mé@example.org", "Enter an e-mail address"},
		{"contact", "ftp://example.org", "or a web address"},
		{"contact", "https://me:hunter2@example.org", "or a web address"},
		{"contact", "https://example.org/a) b", "or a web address"},
		{"providers.spotify.token_url", "/api/token", "http:// or https://"},
		{"shutdown_timeout", "20", "is not a duration"},
		{"shutdown_timeout", "1 minute", "is not a duration"},
		{"shutdown_timeout", "0s", "too short. The minimum is 1s"},
		{"sync.listens_every", "999ms", "too short. The minimum is 1s"},
		{"sync.playlists_every", "-5m", "too short"},
		{"sync.run_timeout", "1d", "is not a duration"},
		{"backoff.base", "99ms", "too short. The minimum is 100ms"},
		{"backoff.jitter", "1", "is not a number from 0 to less than 1"},
		{"backoff.jitter", "-0.1", "is not a number from 0 to less than 1"},
		{"backoff.jitter", "NaN", "is not a number from 0 to less than 1"},
		{"sync.workers", "0", "from 1 to 1000"},
		{"sync.workers", "1001", "from 1 to 1000"},
		{"sync.workers", "2.5", "from 1 to 1000"},
		{"log.format", "xml", "isn't one of auto, text, json"},
		{"allowed_hosts", "music.example.org, https://x.example.org", "Write only the name"},
		{"allowed_hosts", "music.example.org:8420", "without https://, port or path"},
		{"allowed_hosts", "*.example.org", "is not a name such as music.example.org"},
		{"allowed_upstreams", "nas.lan, http://nas.lan:4533", "is not a host such as nas.lan"},
		{"allowed_upstreams", "10.0.0.0/8", "Write it without http:// and path"},
		{"trusted_proxies", "10.0.0.0/8, proxy", `“proxy” is neither an IP address nor a network`},
		{"trusted_proxies", "10.0.0.0/33", "neither an IP address nor a network"},
		{"allow_private_upstreams", "perhaps", "neither true nor false"},
	}
	for _, c := range cases {
		_, err := load("", nil, map[string]string{c.path: c.text})
		problems, ok := err.(Problems)
		require.True(t, ok, "%s: %s", c.path, c.text)
		require.Len(t, problems, 1)
		require.Contains(t, problems[0], c.path+" (the command line): ")
		require.Contains(t, problems[0], c.want)
		require.True(t, strings.HasSuffix(problems[0], "."), problems[0])
		require.NotContains(t, problems[0], "hunter2")
	}
}

func TestFilesThatAreNoSettings(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	_, err := load(missing, nil, nil)
	require.EqualError(t, err, "The configuration file cannot be read: open "+missing+": no such file or directory.")
	for text, want := range map[string]string{
		"listen: [": "is not valid YAML:\n[1:9]",
		"- listen":  "is not valid YAML:\n[1:1]",
		"listen: a:1\nlisten: b:1": `is not valid YAML:` + "\n" +
			`[2:1] mapping key "listen" already defined`,
		"listen: a:1\n---\nlog: {}": "has more than one part",
		"listen: &a [*a]":           "is not valid YAML",
		"log: info":                 `there is no setting "log"`,
		"listen: {port: 1}":         `there is no setting "listen.port"`,
		"lisen:":                    `there is no setting "lisen"; did you mean "listen"?`,
		"Listen: a:1":               `there is no setting "Listen"; did you mean "listen"?`,
		"providers: {lastfn: {api_url: x}}": `there is no setting "providers.lastfn.api_url"; ` +
			`did you mean "providers.lastfm.api_url"?`,
		"providers: {lastfm: {token_url: x}}": `there is no setting "providers.lastfm.token_url"`,
		"secret: x":                           `there is no setting "secret"`,
		"secret_key: [a secret that is long":  "is not valid YAML",
	} {
		file := write(t, text)
		_, err := load(file, nil, nil)
		require.ErrorContains(t, err, file)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "a secret that is long")
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	c.SecretKey = "hunter2-the-key-itself"
	spotify := c.Providers["spotify"]
	spotify["client_secret"] = hidden("hunter2-the-app-secret")
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("settings", "config", c, "provider", spotify, "key", c.SecretKey)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("settings", "config", c, "provider", spotify, "key", c.SecretKey)
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	for _, printed := range []string{
		fmt.Sprint(c), fmt.Sprintf("%v", c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c),
		fmt.Sprintf("%s %q", c.SecretKey, c.SecretKey), fmt.Sprintf("%v", &c), fmt.Sprintf("%+v", spotify),
		logged.String(), string(asJSON),
	} {
		require.NotContains(t, printed, "hunter2")
		require.Contains(t, printed, "[redacted]")
	}
	require.Equal(t, resilience.Secret("hunter2-the-key-itself"), c.SecretKey)
}

func TestAnInvalidKeyIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := load("", []string{"REPRISE_PROVIDERS_YOUTUBE_KEYS=home:key-one-1,short"}, nil)
	require.ErrorContains(t, err, "providers.youtube.keys")
	require.ErrorContains(t, err, "PROJECT:KEY")
	require.NotContains(t, err.Error(), "short\"")
	require.NotContains(t, err.Error(), "key-one")
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("first-key\nhome:second-key\n"), 0o600))
	c, err := load("", []string{"REPRISE_PROVIDERS_YOUTUBE_KEYS_FILE=" + file}, nil)
	require.NoError(t, err)
	require.Equal(t, []keys.Key{{Secret: "first-key"}, {Secret: "second-key", Project: "home"}},
		c.Providers["youtube"].Keys("keys"))
}
