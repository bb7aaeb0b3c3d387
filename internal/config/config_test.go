package config

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
)

// write writes text to a file in a temporary directory and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reprise.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// load calls Load with the providers of the registry.
func load(file string, environ []string, overrides map[string]string) (Config, error) {
	return Load(file, environ, overrides, registry.Descriptions())
}

func text(s string) providers.Value              { return providers.Value{Text: s} }
func hidden(s resilience.Secret) providers.Value { return providers.Value{Secret: s} }
func number(f float64) providers.Value           { return providers.Value{Number: &f} }
func pooled(all ...keys.Key) providers.Value     { return providers.Value{Keys: all} }

func defaults(t testing.TB) Config {
	t.Helper()
	c, err := load("", nil, nil)
	require.NoError(t, err)
	return c
}

// named returns c with those providers that want names: a new one needs no line here.
func named(want, c Config) Config {
	c.Providers = maps.Clone(c.Providers)
	maps.DeleteFunc(c.Providers, func(name string, _ providers.Settings) bool {
		_, ok := want.Providers[name]
		return !ok
	})
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	usual := []string{"openid", "profile", "email"}
	want := Config{
		Listen: "127.0.0.1:8420", DataDir: "./data", LogLevel: slog.LevelInfo, LogFormat: "auto",
		SecondStep:      "nobody",
		ShutdownTimeout: 20 * time.Second, ClusterDrain: 5 * time.Second,
		ListensEvery: 5 * time.Minute, PlaylistsEvery: 15 * time.Minute, NowPlaying: true, EnrichEvery: time.Hour,
		ArtMaxMiB: 512, Backup: Backup{Keep: 7}, MQTT: MQTT{Topic: "reprise", Discovery: "homeassistant"},
		OpenID: OpenID{Issuers: [3]Issuer{{Scopes: usual, GroupsClaim: "groups"},
			{Scopes: usual, GroupsClaim: "groups"}, {Scopes: usual, GroupsClaim: "groups"}},
			Session: 30 * 24 * time.Hour, Form: FormShown},
		Workers: 8, RunTimeout: 10 * time.Minute,
		BackoffBase: 30 * time.Second, BackoffMax: 30 * time.Minute, BackoffJitter: 0.25, BreakerFailures: 5,
		BreakerCooldown: time.Minute, BreakerMaxOpen: 10 * time.Minute, AllowPrivateUpstreams: true,
		DeliveryFirstDelay: time.Second, DeliveryMaxDelay: time.Hour, DeliveryMaxAge: 336 * time.Hour,
		DeliveryKeepDead: 720 * time.Hour,
		DeliveryWorkers:  4, DeliveryBacklogWarn: 1000, DeliveryBacklogLimit: 5000,
		Providers: map[string]providers.Settings{
			"spotify": {"api_url": text("https://api.spotify.com"),
				"auth_url":  text("https://accounts.spotify.com/authorize"),
				"token_url": text("https://accounts.spotify.com/api/token"), "client_id": {}, "client_secret": {}},
			"lastfm": {"api_url": text("https://ws.audioscrobbler.com/2.0"),
				"auth_url":  text("https://www.last.fm/api/auth/"),
				"client_id": {}, "client_secret": {}, "rate": number(5)},
			"listenbrainz": {"api_url": text("https://api.listenbrainz.org"), "rate": number(1)},
			"youtube": {"api_url": text("https://www.googleapis.com/youtube/v3"),
				"auth_url":  text("https://accounts.google.com/o/oauth2/v2/auth"),
				"token_url": text("https://oauth2.googleapis.com/token"), "client_id": {}, "client_secret": {},
				"keys": {}},
			"musicbrainz": {"api_url": text("https://musicbrainz.org"), "rate": number(1)},
			"fanarttv":    {"api_url": text("https://webservice.fanart.tv"), "keys": {}, "client_key": {}},
			"openai": {"api_url": text("https://api.openai.com/v1"), "keys": {}, "model": {}, "price_in": {},
				"price_out": {},
				"currency":  text("USD")},
			"navidrome": {},
			"s3":        {},
		},
	}
	require.Equal(t, want, named(want, defaults(t)))
}

// everything sets each setting to a value other than its default.
const everything = `
listen: ":9000"
base_url: https://music.example.org/
data_dir: /var/lib/reprise
database_url: postgres://reprise:p%40ss@db.home/reprise
secret_key: sixteen characters at least
admin_token: "another sixteen characters "
contact: me@example.org
log: {level: Debug, format: json}
shutdown_timeout: 1m30s
cluster: {enabled: true, drain: 10s}
trusted_proxies:
  - 10.0.0.0/8
  - 192.168.1.7
  - ::1
sync:
  listens_every: 1s
  playlists_every: 1h
  now_playing: false
  enrich_every: 2h
  workers: 1
  run_timeout: 30s
backoff:
  base: 100ms
  max: 100ms
  jitter: 0
breaker:
  failures: 3
  cooldown: 100ms
  max_open: 60s
delivery:
  first_delay: 100ms
  max_delay: 2h
  max_age: 24h
  max_attempts: 6
  keep_dead: 48h
  workers: 2
  backlog_warn: 10
  backlog_limit: 20
notify: {urls: ["ntfy://ntfy.sh/topic", "telegram://1:a@telegram?chats=1,2"]}
art: {max_mib: 0}
mqtt: {url: "mqtt://reprise:a%20password@broker.lan", topic: /music/, discovery: "off"}
auth:
  require_second_step: everybody
  oidc: {issuer: https://auth.example.org/realms/home/, client_id: reprise, client_secret: of the issuer,
    scopes: groups openid, button: Home, allow_group: music, admin_group: admins, groups_claim: roles,
    create_accounts: true, session: 1h, password_form: skipped}
  oidc2: {issuer: https://second.example.org, client_id: second, client_secret: of the second, button: Work,
    allow_group: listeners, admin_group: chiefs, groups_claim: teams, scopes: openid offline_access,
    create_accounts: true}
  oidc3: {issuer: https://third.example.org, client_id: third, client_secret: of the third, button: Club,
    allow_group: members, admin_group: board, groups_claim: circles, scopes: openid, create_accounts: true}
  proxy_header: remote-user
  proxy_from: [172.18.0.5]
  proxy_create_accounts: true
  proxy_sign_out: https://auth.example.org/logout
backup:
  daily: true
  keep: 30
  folder: " /mnt/nas "
  s3: {address: "https://s3.example.org", bucket: /music/reprise/, access_key: access, secret_key: secret}
allow_private_upstreams: false
providers:
  spotify:
    api_url: http://127.0.0.1:1/api/
    auth_url: http://127.0.0.1:1/authorize/?tenant=1
    token_url: http://[::1]:1/token/
    client_id: id
    client_secret: "  secret "
  lastfm:
    api_url: http://127.0.0.1:2/2.0/
    auth_url: http://127.0.0.1:2/api/auth/
    client_id: key
    client_secret: shared
    rate: 0
  listenbrainz: {api_url: "http://lb.local", rate: 0.5}
  youtube:
    api_url: http://127.0.0.1:3/youtube/v3/
    auth_url: http://127.0.0.1:3/auth
    token_url: http://127.0.0.1:3/token
    client_id: id
    client_secret: secret
    keys: [first-key, "home:second-key", first-key]
  musicbrainz: {api_url: "http://mb.local/", rate: 20}
  fanarttv:
    api_url: http://127.0.0.1:4/
    keys: fanart-key-1
    client_key: " personal "
  openai:
    api_url: http://127.0.0.1:4/v1/
    keys: [third-key, "home:fourth-key"]
    model: a-model
    price_in: 0.15
    price_out: 0
    currency: EUR
`

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	want := Config{
		Listen: ":9000", BaseURL: "https://music.example.org", DataDir: "/var/lib/reprise",
		DatabaseURL: "postgres://reprise:p%40ss@db.home/reprise", SecretKey: "sixteen characters at least",
		AdminToken: "another sixteen characters", SecondStep: "everybody",
		Contact: "me@example.org", LogLevel: slog.LevelDebug, LogFormat: "json", ShutdownTimeout: 90 * time.Second,
		Cluster: true, ClusterDrain: 10 * time.Second,
		TrustedProxies: []string{"10.0.0.0/8", "192.168.1.7/32", "::1/128"}, ListensEvery: time.Second,
		PlaylistsEvery: time.Hour,
		EnrichEvery:    2 * time.Hour, Workers: 1, RunTimeout: 30 * time.Second, BackoffBase: 100 * time.Millisecond,
		BackoffMax:      100 * time.Millisecond,
		BreakerFailures: 3, BreakerCooldown: 100 * time.Millisecond, BreakerMaxOpen: time.Minute,
		DeliveryFirstDelay: 100 * time.Millisecond, DeliveryMaxDelay: 2 * time.Hour, DeliveryMaxAge: 24 * time.Hour,
		DeliveryMaxAttempts: 6, DeliveryKeepDead: 48 * time.Hour,
		DeliveryWorkers: 2, DeliveryBacklogWarn: 10, DeliveryBacklogLimit: 20,
		Backup: Backup{Daily: true, Keep: 30, Folder: "/mnt/nas", Bucket: Bucket{Address: "https://s3.example.org",
			Name: "music/reprise", AccessKey: "access", SecretKey: "secret"}},
		NotifyURLs: []resilience.Secret{"ntfy://ntfy.sh/topic", "telegram://1:a@telegram?chats=1,2"},
		MQTT:       MQTT{Broker: "mqtt://reprise:a%20password@broker.lan", Topic: "music"},
		OpenID: OpenID{Issuers: [3]Issuer{{Issuer: "https://auth.example.org/realms/home/", ClientID: "reprise",
			ClientSecret: "of the issuer", Scopes: []string{"openid", "groups"}, Button: "Home", AllowGroup: "music",
			AdminGroup: "admins", GroupsClaim: "roles", CreateAccounts: true},
			{Issuer: "https://second.example.org", ClientID: "second", ClientSecret: "of the second",
				Scopes: []string{"openid", "offline_access"}, Button: "Work", AllowGroup: "listeners",
				AdminGroup: "chiefs", GroupsClaim: "teams", CreateAccounts: true},
			{Issuer: "https://third.example.org", ClientID: "third", ClientSecret: "of the third",
				Scopes: []string{"openid"}, Button: "Club", AllowGroup: "members", AdminGroup: "board",
				GroupsClaim: "circles", CreateAccounts: true}}, Session: time.Hour, Form: FormSkipped},
		Proxy: Proxy{Header: "Remote-User", From: []string{"172.18.0.5/32"}, CreateAccounts: true,
			SignOut: "https://auth.example.org/logout"},
		Providers: map[string]providers.Settings{
			"spotify": {"api_url": text("http://127.0.0.1:1/api"),
				"auth_url":  text("http://127.0.0.1:1/authorize/?tenant=1"),
				"token_url": text("http://[::1]:1/token/"), "client_id": text("id"), "client_secret": hidden("secret")},
			"lastfm": {"api_url": text("http://127.0.0.1:2/2.0"), "auth_url": text("http://127.0.0.1:2/api/auth/"),
				"client_id": text("key"), "client_secret": hidden("shared"), "rate": number(0)},
			"listenbrainz": {"api_url": text("http://lb.local"), "rate": number(0.5)},
			"youtube": {"api_url": text("http://127.0.0.1:3/youtube/v3"), "auth_url": text("http://127.0.0.1:3/auth"),
				"token_url": text("http://127.0.0.1:3/token"), "client_id": text("id"),
				"client_secret": hidden("secret"),
				"keys": pooled(keys.Key{Secret: "first-key"},
					keys.Key{Secret: "second-key", Project: "home"})},
			"musicbrainz": {"api_url": text("http://mb.local"), "rate": number(20)},
			"fanarttv": {"api_url": text("http://127.0.0.1:4"),
				"keys":       pooled(keys.Key{Secret: "fanart-key-1"}),
				"client_key": hidden("personal")},
			"openai": {"api_url": text("http://127.0.0.1:4/v1"), "model": text("a-model"), "currency": text("EUR"),
				"keys": pooled(keys.Key{Secret: "third-key"},
					keys.Key{Secret: "fourth-key", Project: "home"}),
				"price_in": number(0.15), "price_out": number(0)},
			"navidrome": {},
			"s3":        {},
		},
	}
	got, err := load(write(t, everything), nil, nil)
	require.NoError(t, err)
	require.Equal(t, want, named(want, got))

	environ := []string{"PATH=/bin", "REPRISE=x", "REPRISE_LISTEN=:9000",
		"REPRISE_BASE_URL=https://music.example.org/", "REPRISE_DATA_DIR=/var/lib/reprise",
		"REPRISE_DATABASE_URL=postgres://reprise:p%40ss@db.home/reprise",
		"REPRISE_SECRET_KEY=sixteen characters at least", "REPRISE_ADMIN_TOKEN=another sixteen characters",
		"REPRISE_AUTH_REQUIRE_SECOND_STEP=everybody",
		"REPRISE_CONTACT=me@example.org", "REPRISE_LOG_LEVEL=debug", "REPRISE_LOG_FORMAT=json",
		"REPRISE_SHUTDOWN_TIMEOUT=1m30s", "REPRISE_CLUSTER_ENABLED=true", "REPRISE_CLUSTER_DRAIN=10s",
		"REPRISE_TRUSTED_PROXIES=10.0.0.0/8, 192.168.1.7,,::1",
		"REPRISE_SYNC_LISTENS_EVERY=1s",
		"REPRISE_SYNC_PLAYLISTS_EVERY=1h", "REPRISE_SYNC_NOW_PLAYING=false", "REPRISE_SYNC_ENRICH_EVERY=2h",
		"REPRISE_NOTIFY_URLS=ntfy://ntfy.sh/topic,telegram://1:a@telegram?chats=1,2", "REPRISE_ART_MAX_MIB=0",
		"REPRISE_MQTT_URL=mqtt://reprise:a%20password@broker.lan", "REPRISE_MQTT_TOPIC=music",
		"REPRISE_MQTT_DISCOVERY=off",
		"REPRISE_AUTH_OIDC_ISSUER=https://auth.example.org/realms/home/", "REPRISE_AUTH_OIDC_CLIENT_ID=reprise",
		"REPRISE_AUTH_OIDC_CLIENT_SECRET=of the issuer", "REPRISE_AUTH_OIDC_SCOPES=groups openid",
		"REPRISE_AUTH_OIDC_BUTTON=Home", "REPRISE_AUTH_OIDC_ALLOW_GROUP=music",
		"REPRISE_AUTH_OIDC_ADMIN_GROUP=admins", "REPRISE_AUTH_OIDC_GROUPS_CLAIM=roles",
		"REPRISE_AUTH_OIDC_CREATE_ACCOUNTS=true", "REPRISE_AUTH_OIDC_SESSION=1h",
		"REPRISE_AUTH_OIDC2_ISSUER=https://second.example.org", "REPRISE_AUTH_OIDC2_CLIENT_ID=second",
		"REPRISE_AUTH_OIDC2_CLIENT_SECRET=of the second", "REPRISE_AUTH_OIDC2_BUTTON=Work",
		"REPRISE_AUTH_OIDC2_ALLOW_GROUP=listeners", "REPRISE_AUTH_OIDC2_ADMIN_GROUP=chiefs",
		"REPRISE_AUTH_OIDC2_GROUPS_CLAIM=teams", "REPRISE_AUTH_OIDC2_SCOPES=openid,offline_access",
		"REPRISE_AUTH_OIDC2_CREATE_ACCOUNTS=true",
		"REPRISE_AUTH_OIDC3_ISSUER=https://third.example.org", "REPRISE_AUTH_OIDC3_CLIENT_ID=third",
		"REPRISE_AUTH_OIDC3_CLIENT_SECRET=of the third", "REPRISE_AUTH_OIDC3_BUTTON=Club",
		"REPRISE_AUTH_OIDC3_ALLOW_GROUP=members", "REPRISE_AUTH_OIDC3_ADMIN_GROUP=board",
		"REPRISE_AUTH_OIDC3_GROUPS_CLAIM=circles", "REPRISE_AUTH_OIDC3_SCOPES=openid",
		"REPRISE_AUTH_OIDC3_CREATE_ACCOUNTS=true",
		"REPRISE_AUTH_OIDC_PASSWORD_FORM=skipped", "REPRISE_AUTH_PROXY_HEADER=remote-user",
		"REPRISE_AUTH_PROXY_FROM=172.18.0.5", "REPRISE_AUTH_PROXY_CREATE_ACCOUNTS=true",
		"REPRISE_AUTH_PROXY_SIGN_OUT=https://auth.example.org/logout",
		"REPRISE_BACKUP_DAILY=true", "REPRISE_BACKUP_KEEP=30", "REPRISE_BACKUP_FOLDER=/mnt/nas",
		"REPRISE_BACKUP_S3_ADDRESS=https://s3.example.org", "REPRISE_BACKUP_S3_BUCKET=music/reprise",
		"REPRISE_BACKUP_S3_ACCESS_KEY=access", "REPRISE_BACKUP_S3_SECRET_KEY=secret",
		"REPRISE_SYNC_WORKERS=1", "REPRISE_SYNC_RUN_TIMEOUT=30s", "REPRISE_BACKOFF_BASE=100ms",
		"REPRISE_BACKOFF_MAX=100ms",
		"REPRISE_BACKOFF_JITTER=0", "REPRISE_BREAKER_FAILURES=3", "REPRISE_BREAKER_COOLDOWN=100ms",
		"REPRISE_BREAKER_MAX_OPEN=60s",
		"REPRISE_PROVIDERS_LASTFM_RATE=0", "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=0.5",
		"REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_DELIVERY_MAX_DELAY=2h", "REPRISE_DELIVERY_MAX_AGE=24h",
		"REPRISE_DELIVERY_MAX_ATTEMPTS=6",
		"REPRISE_DELIVERY_KEEP_DEAD=48h", "REPRISE_DELIVERY_WORKERS=2", "REPRISE_DELIVERY_BACKLOG_WARN=10",
		"REPRISE_DELIVERY_BACKLOG_LIMIT=20",
		"REPRISE_ALLOW_PRIVATE_UPSTREAMS=false", "REPRISE_PROVIDERS_SPOTIFY_API_URL=http://127.0.0.1:1/api/",
		"REPRISE_PROVIDERS_SPOTIFY_AUTH_URL=http://127.0.0.1:1/authorize/?tenant=1",
		"REPRISE_PROVIDERS_SPOTIFY_TOKEN_URL=http://[::1]:1/token/",
		"REPRISE_PROVIDERS_SPOTIFY_CLIENT_ID=id", "REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET=secret",
		"REPRISE_PROVIDERS_LASTFM_API_URL=http://127.0.0.1:2/2.0/",
		"REPRISE_PROVIDERS_LASTFM_AUTH_URL=http://127.0.0.1:2/api/auth/",
		"REPRISE_PROVIDERS_LASTFM_CLIENT_ID=key", "REPRISE_PROVIDERS_LASTFM_CLIENT_SECRET=shared",
		"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=http://lb.local",
		"REPRISE_PROVIDERS_YOUTUBE_API_URL=http://127.0.0.1:3/youtube/v3",
		"REPRISE_PROVIDERS_YOUTUBE_AUTH_URL=http://127.0.0.1:3/auth",
		"REPRISE_PROVIDERS_YOUTUBE_TOKEN_URL=http://127.0.0.1:3/token", "REPRISE_PROVIDERS_YOUTUBE_CLIENT_ID=id",
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_SECRET=secret", "REPRISE_PROVIDERS_YOUTUBE_KEYS=first-key, home:second-key",
		"REPRISE_PROVIDERS_MUSICBRAINZ_API_URL=http://mb.local", "REPRISE_PROVIDERS_MUSICBRAINZ_RATE=20",
		"REPRISE_PROVIDERS_FANARTTV_API_URL=http://127.0.0.1:4",
		"REPRISE_PROVIDERS_FANARTTV_KEYS=fanart-key-1", "REPRISE_PROVIDERS_FANARTTV_CLIENT_KEY=personal",
		"REPRISE_PROVIDERS_OPENAI_API_URL=http://127.0.0.1:4/v1",
		"REPRISE_PROVIDERS_OPENAI_KEYS=third-key,home:fourth-key", "REPRISE_PROVIDERS_OPENAI_MODEL=a-model",
		"REPRISE_PROVIDERS_OPENAI_PRICE_IN=0.15", "REPRISE_PROVIDERS_OPENAI_PRICE_OUT=0",
		"REPRISE_PROVIDERS_OPENAI_CURRENCY=EUR"}
	given := slices.Clone(environ)
	got, err = load("", environ, nil)
	require.NoError(t, err)
	require.Equal(t, want, named(want, got))
	require.Equal(t, given, environ, "the caller's list stays as it is")
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := write(t, "listen: file:1\ndata_dir: file\ncontact: file@example.org\nsync: {workers: 2}")
	c, err := load(file, []string{"REPRISE_DATA_DIR=environment", "REPRISE_CONTACT=environment@example.org"},
		map[string]string{"contact": "line@example.org"})
	require.NoError(t, err)
	want := defaults(t)
	want.Listen, want.DataDir, want.Contact, want.Workers = "file:1", "environment", "line@example.org", 2
	require.Equal(t, want, c)
}

func TestEmptyValuesAreIgnored(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "# nothing\n", "---\n", "listen:\nlog:\nsync: {}\n",
		"listen: \"\"\ntrusted_proxies: []\nsync: {workers: ' '}", "providers: {spotify: {api_url: ''}}",
	} {
		c, err := load(write(t, text), []string{"REPRISE_LISTEN=", "REPRISE_SYNC_WORKERS= ",
			"REPRISE_SECRET_KEY_FILE=", "REPRISE_TRUSTED_PROXIES="}, nil)
		require.NoError(t, err)
		require.Equal(t, defaults(t), c, text)
	}
	c, err := load(write(t, "contact: file@example.org\nsync: {workers: 2}"),
		[]string{"REPRISE_CONTACT=", "REPRISE_SYNC_WORKERS="}, nil)
	require.NoError(t, err)
	require.Equal(t, "file@example.org", c.Contact, "an empty variable hides nothing")
	require.Equal(t, 2, c.Workers)

	c, err = load("", []string{"REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET=of another app"},
		map[string]string{"providers.spotify.client_secret": ""})
	require.NoError(t, err)
	require.Empty(t, string(c.Providers["spotify"].Secret("client_secret")), "the command line takes it back")
}

// TestDigitsAreKeptAsWritten uses a key that YAML would read as a number.
func TestDigitsAreKeptAsWritten(t *testing.T) {
	t.Parallel()
	file := write(t, "secret_key: 1234567890123456789012345\nadmin_token: 0012345670123456\nproviders:\n  lastfm: "+
		"{client_id: 12345678901e5, client_secret: 0x1234567}\n"+
		"  youtube: {keys: [00123456701, 12345e10]}\nsync: {workers: 010}")
	c, err := load(file, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "1234567890123456789012345", string(c.SecretKey))
	require.Equal(t, "0012345670123456", string(c.AdminToken))
	require.Equal(t, "12345678901e5", c.Providers["lastfm"].Text("client_id"))
	require.Equal(t, "0x1234567", string(c.Providers["lastfm"].Secret("client_secret")))
	require.Equal(t, []keys.Key{{Secret: "00123456701"}, {Secret: "12345e10"}},
		c.Providers["youtube"].Keys("keys"))
	require.Equal(t, 10, c.Workers)
}

func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	key, secret := write(t, "the key of this test\n"), write(t, "\tthe secret \r\n")
	c, err := load(write(t, "secret_key: in the file, and less"),
		[]string{"REPRISE_SECRET_KEY_FILE=" + key, "REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET_FILE=" + secret}, nil)
	require.NoError(t, err)
	require.Equal(t, "the key of this test", string(c.SecretKey))
	require.Equal(t, "the secret", string(c.Providers["spotify"].Secret("client_secret")))

	c, err = load("", []string{"REPRISE_SECRET_KEY=", "REPRISE_SECRET_KEY_FILE=" + key}, nil)
	require.NoError(t, err)
	require.Equal(t, "the key of this test", string(c.SecretKey))

	empty := write(t, " \n")
	_, err = load("", []string{"REPRISE_SECRET_KEY_FILE=" + empty,
		"REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET_FILE=/nowhere"}, nil)
	require.EqualError(t, err, "REPRISE_PROVIDERS_SPOTIFY_CLIENT_SECRET_FILE names a file that cannot be read: "+
		"open /nowhere: no such file or directory.\n"+
		"REPRISE_SECRET_KEY_FILE names a file that is empty: "+empty+".")
	_, err = load("", []string{"REPRISE_SECRET_KEY=the key of another test", "REPRISE_SECRET_KEY_FILE=" + key}, nil)
	require.EqualError(t, err, "Both REPRISE_SECRET_KEY and REPRISE_SECRET_KEY_FILE are set. Keep one of them.")
}

func TestLoopbackFor(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		":8420":         "127.0.0.1:8420",
		"0.0.0.0:1":     "127.0.0.1:1",
		"[::]:1":        "127.0.0.1:1",
		"192.168.1.2:1": "192.168.1.2:1",
		"[::1]:1":       "[::1]:1",
		"music.local:1": "music.local:1",
	} {
		require.Equal(t, want, LoopbackFor(listen))
	}
}

func TestALongCooldownRaisesTheLongestWait(t *testing.T) {
	c, err := load("", []string{"REPRISE_BREAKER_COOLDOWN=1h"}, nil)
	require.NoError(t, err)
	require.Equal(t, time.Hour, c.BreakerMaxOpen)
}
