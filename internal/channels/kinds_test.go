package channels

import (
	"cmp"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// service is a service of any kind for one test: it records each request and gives one answer.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	heard  []string
	status int
	header http.Header
	body   string
}

func newService(t *testing.T) *service {
	s := &service{status: http.StatusOK, body: "{}"}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	text.WriteString(r.Method + " " + r.URL.RequestURI() + "\n")
	for _, name := range []string{"Authorization", "Content-Type", "Idempotency-Key", "X-Gotify-Key", "X-Sequence-Id"} {
		if v := r.Header.Get(name); v != "" {
			text.WriteString(name + ": " + v + "\n")
		}
	}
	var v any
	if json.Unmarshal(body, &v) == nil {
		body, _ = json.MarshalIndent(v, "", "  ")
	}
	s.heard = append(s.heard, text.String()+"\n"+string(body)+"\n")
	maps.Copy(w.Header(), s.header)
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.body)
}

func (s *service) host() string { return strings.TrimPrefix(s.URL, "http://") }

// config returns the configuration that sends everything to the service.
func (s *service) config() Config {
	client := transport.NewClient(&transport.Transport{Base: hosts.NewBase(nil)})
	return Config{Client: client, discordURL: s.URL, telegramURL: s.URL, BaseURL: "https://reprise.example.org"}
}

func (s *service) channels() *Channels { return New(s.config()) }

// urls returns a channel of each kind that is a POST with readable JSON, at the service.
func (s *service) urls() map[string]resilience.Secret {
	return map[string]resilience.Secret{
		ntfy.Name:     resilience.Secret("ntfy://:tk_secret99@" + s.host() + "/topic?scheme=http"),
		gotify.Name:   resilience.Secret("gotify://" + s.host() + "/sub/Asecret99?scheme=http"),
		discord.Name:  "discord://secret99@1234",
		telegram.Name: "telegram://110:secret99@telegram?chats=42",
		webhook.Name:  resilience.Secret("http://" + s.host() + "/hook?key=secret99"),
	}
}

var at = time.Date(2027, 1, 14, 9, 12, 0, 0, time.UTC)

func sample() notify.Message {
	return notify.Message{
		ID:         "000102030405060708090a0b0c0d0e0f",
		Event:      notify.Opened,
		Severity:   notify.Error,
		Title:      "Spotify needs to be reconnected",
		Text:       "Your permission ended on 14 January. “Ágætis”.",
		Connection: "spotify",
		Category:   "auth",
		URL:        "https://reprise.example.org/connect/spotify",
		CreatedAt:  at,
	}
}

func sampleDigest() notify.Message {
	m := sample()
	m.Event, m.Title, m.Text = notify.Digest, "2 things happened", "• One\n• Two"
	m.Items = []notify.Item{
		{Event: notify.Opened, Severity: notify.Error, Title: "One", Text: "It is.", CreatedAt: at},
		{Event: notify.Resolved, Severity: notify.Success, Title: "Two", CreatedAt: at, ResolvedAt: at.Add(time.Hour)},
	}
	return m
}

func TestEveryKindIsComplete(t *testing.T) {
	t.Parallel()
	var names, schemes []string
	for _, k := range kinds {
		names, schemes = append(names, k.Name), append(schemes, k.schemes...)
		form := k.Name != WebPush // browsers add themselves, without a form or a URL that people know
		for part, ok := range map[string]bool{
			"name":     k.Name != "",
			"label":    k.Label != "",
			"sent":     !k.Sent.IsZero(),
			"endpoint": k.Endpoint != "",
			"parse":    k.parse != nil,
			"shown":    k.shown != nil,
			"send":     k.send != nil,
			"fields":   len(k.Fields) > 0 || !form,
			"build":    k.build != nil || !form,
			"schemes":  len(k.schemes) > 0 || !form,
			"address": !form || slices.ContainsFunc(addressForms, func(row [2]string) bool {
				return strings.HasPrefix(row[1], k.Name+" ")
			}),
			"golden file": newService(t).urls()[k.Name] != "" || k.Name == email.Name || !form,
		} {
			require.True(t, ok, "%s lacks its %s", k.Name, part)
		}
		for _, f := range k.Fields {
			require.NotEmpty(t, f.Label, "%s, %s", k.Name, f.Name)
			require.Contains(t, []string{"text", "url", "password"}, f.Kind, "%s, %s", k.Name, f.Name)
		}
	}
	openapi, err := os.ReadFile("../../web/openapi.yaml")
	require.NoError(t, err)
	described := 0
	for _, enum := range regexp.MustCompile(`enum:\n((?: +- \w+\n)+)`).FindAllStringSubmatch(string(openapi), -1) {
		if slices.Equal(strings.Fields(strings.ReplaceAll(enum[1], "- ", "")), names) {
			described++
		}
	}
	require.Equal(t, 2, described, "of a channel, and of one that is added: their types in internal/server/channels")
	for _, all := range [][]string{names, schemes} {
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), len(all), "nothing twice in %v", all)
	}
}

func TestMessagesOfEachKind(t *testing.T) {
	t.Parallel()
	for kind := range newService(t).urls() {
		s := newService(t)
		address := s.urls()[kind]
		require.NoError(t, s.channels().Send(t.Context(), resilience.Call{}, kind, address, sample()), kind)
		if kind == webhook.Name {
			require.NoError(t, s.channels().Send(t.Context(), resilience.Call{}, kind, address, sampleDigest()))
		}
		golden, got := "testdata/"+kind+".golden", strings.Join(s.heard, "\n")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got, kind)
	}
}

// refused lists answers of services with the class and category that they mean, and whether they dictate a wait.
var refused = []struct {
	kind, what string
	status     int
	body, want string
}{
	{ntfy.Name, "wrong token", 401, `{"code":40101,"error":"unauthorized"}`, "fatal auth"},
	{ntfy.Name, "not allowed", 403, `{"code":40301}`, "fatal auth"},
	{ntfy.Name, "no such address", 404, `{}`, "fatal config"},
	{ntfy.Name, "bad message", 400, `{}`, "fatal item"},
	{ntfy.Name, "too long", 413, `{}`, "fatal item"},
	{ntfy.Name, "too often", 429, `Retry-After: 90 {"code":42901}`, "retriable rate_limit, wait"},
	{ntfy.Name, "no more today", 429, `{"code":42908,"error":"limit reached"}`, "retriable quota, wait"},
	{ntfy.Name, "out of order", 503, ``, "retriable upstream"},
	{gotify.Name, "wrong token", 401,
		`{"errorDescription":"you need to provide a valid access token"}`, "fatal auth"},
	{gotify.Name, "bad message", 400, `{}`, "fatal item"},
	{gotify.Name, "another server", 404, `{}`, "fatal config"},
	{discord.Name, "webhook gone", 404, `{"message":"Unknown Webhook","code":10015}`, "fatal config"},
	{discord.Name, "wrong token", 401, `{"message":"Invalid Webhook Token","code":50027}`, "fatal config"},
	{discord.Name, "bad message", 400, `{"code":50006}`, "fatal item"},
	{discord.Name, "too often", 429,
		`{"message":"You are being rate limited.","retry_after":90.5,"global":false}`, "retriable rate_limit, wait"},
	{telegram.Name, "no such bot", 401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, "fatal auth"},
	{telegram.Name, "malformed bot", 404, `{"ok":false,"error_code":404,"description":"Not Found"}`, "fatal auth"},
	{telegram.Name, "blocked", 403,
		`{"ok":false,"description":"Forbidden: bot was blocked by the user"}`, "fatal permission"},
	{telegram.Name, "no such chat", 400, `{"ok":false,"description":"Bad Request: chat not found"}`, "fatal config"},
	{telegram.Name, "bad message", 400,
		`{"ok":false,"description":"Bad Request: message text is empty"}`, "fatal item"},
	{telegram.Name, "too often", 429, `{"ok":false,"parameters":{"retry_after":90}}`, "retriable rate_limit, wait"},
	{webhook.Name, "not allowed", 403, ``, "fatal auth"},
	{webhook.Name, "gone", 410, ``, "fatal config"},
	{webhook.Name, "takes no POST", 405, ``, "fatal config"},
	{webhook.Name, "refused message", 422, ``, "fatal item"},
	{webhook.Name, "broken", 500, ``, "retriable upstream"},
}

func TestMeaningOfRefusals(t *testing.T) {
	t.Parallel()
	const wait = 90 * time.Second
	for _, row := range refused {
		name := row.kind + ", " + row.what
		s := newService(t)
		s.status = row.status
		var retryAfter bool
		if s.body, retryAfter = strings.CutPrefix(row.body, "Retry-After: 90 "); retryAfter {
			s.header = http.Header{"Retry-After": {"90"}}
		}
		err := s.channels().Send(t.Context(), resilience.Call{}, row.kind, s.urls()[row.kind], sample())
		require.Error(t, err, name)
		v := resilience.VerdictOf(err)
		got := v.Class.String() + " " + v.Category.String()
		if !v.NotBefore.IsZero() {
			got += ", wait"
		}
		require.Equal(t, row.want, got, name)
		if !v.NotBefore.IsZero() && v.Category == resilience.RateLimit {
			require.WithinDuration(t, time.Now().Add(wait), v.NotBefore, wait/2, name)
		}
		require.NotContains(t, err.Error(), "secret99", name)
	}
}

func TestAWebhookMayAnswerWithAPage(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.header, s.body = http.Header{"Content-Type": {"text/html"}}, "<html>ok</html>"
	config, url := s.config(), s.urls()[webhook.Name]
	config.Client = transport.NewClient(&transport.Transport{
		Base:     hosts.NewBase(nil),
		Breakers: transport.NewBreakers(transport.BreakerOptions{}),
	})
	c := New(config)
	for range 10 { // enough failures to open the breaker, if they were any
		require.NoError(t, c.Send(t.Context(), resilience.Call{}, webhook.Name, url, sample()))
	}
	s.status = http.StatusNotFound
	err := c.Send(t.Context(), resilience.Call{}, webhook.Name, url, sample())
	require.Equal(t, resilience.Retriable, resilience.VerdictOf(err).Class, "the page may be that of a proxy")
}

func TestNoChatGetsAMessageTwice(t *testing.T) {
	t.Parallel()
	var chats []string
	broken := true
	s := newService(t)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v struct {
			Chat string `json:"chat_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&v)
		if v.Chat == "2" && broken {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		chats = append(chats, v.Chat)
		_, _ = io.WriteString(w, "{}")
	})
	c, url := s.channels(), resilience.Secret("telegram://1:a@telegram?chats=1,2")
	require.Error(t, c.Send(t.Context(), resilience.Call{}, telegram.Name, url, sample()))
	broken = false
	require.NoError(t, c.Send(t.Context(), resilience.Call{}, telegram.Name, url, sample()))
	require.Equal(t, []string{"1", "2"}, chats)
	require.Empty(t, c.chats.got, "what all chats have got is forgotten")
}

// addressForms lists addresses that people type, each with its kind, the URL as it is kept, and what is shown of it.
var addressForms = [][2]string{
	{"ntfy://ntfy.sh/my-topic", "ntfy ntfy://ntfy.sh/my-topic ntfy.sh/…opic"},
	{"https://ntfy.sh/my-topic", "ntfy ntfy://ntfy.sh/my-topic ntfy.sh/…opic"},
	{"ntfy://ann:pw@push.example.org:8080/my-topic?scheme=http",
		"ntfy ntfy://ann:pw@push.example.org:8080/my-topic?scheme=http push.example.org:8080/…opic"},
	{"gotify://push.example.org/sub/Abcdefghij?disableTLS=yes",
		"gotify gotify://push.example.org/sub/Abcdefghij?scheme=http push.example.org/…ghij"},
	{"https://discord.com/api/webhooks/123/abc-DEF_ghi", "discord discord://abc-DEF_ghi@123 discord.com/…_ghi"},
	{"https://example.org/api/webhooks/123/abc-DEF_ghi",
		"webhook https://example.org/api/webhooks/123/abc-DEF_ghi example.org/…_ghi"},
	{"discord://abcdefgh@123", "discord discord://abcdefgh@123 discord.com/…efgh"},
	{"telegram://110:AAH@telegram?channels=1,2",
		"telegram telegram://110:AAH@telegram?chats=1%2C2 Telegram, chat 1,2"},
	{"smtp://ann:pw@mail.example.org:587/?from=a@example.org&to=b@x.org,c@x.org",
		"email smtp://ann:pw@mail.example.org:587/?from=a%40example.org&to=b%40x.org%2Cc%40x.org " +
			"b@x.org,c@x.org, sent through mail.example.org"},
	{"generic+https://example.org/hook?a=b", "webhook https://example.org/hook?a=b example.org/…ka=b"},
	{"generic://example.org/hook12345?disabletls=yes", "webhook http://example.org/hook12345 example.org/…2345"},
	{"https://example.org/hook12345", "webhook https://example.org/hook12345 example.org/…2345"},
}

func TestAddressesInAllForms(t *testing.T) {
	t.Parallel()
	for _, row := range addressForms {
		text, want := row[0], row[1]
		kind, url, err := Parse(text, "")
		require.NoError(t, err, text)
		require.Equal(t, want, kind+" "+url+" "+Shown(kind, url).String())
		again, same, err := Parse(url, kind)
		require.NoError(t, err, url)
		require.Equal(t, kind+url, again+same, "what is kept can be read again")
	}
}

func TestUnusableAddresses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "secret99", "secret99://x/y", "ntfy://x/sec ret99", "ntfy://x/", "gotify://x", "discord://secret99",
		"discord://secret99@abc", "telegram://secret99@telegram?chats=1", "telegram://1:secret99@telegram",
		"smtp://u:secret99@x/?from=a", "https://x:secret99:y/", "%secret99",
	} {
		_, _, err := Parse(text, "")
		require.Error(t, err, text)
		require.NotEmpty(t, Problem(err).String(), text)
		require.NotContains(t, Problem(err).String(), "secret99")
	}
	_, _, err := Parse("unknown://x/y", "")
	require.EqualError(t, err, "channel: Reprise doesn't know this kind of address. It begins with "+
		"ntfy://, gotify://, discord://, telegram://, smtp:// or smtps://, or with https:// for a webhook.")
	_, _, err = Parse("discord://a@1", ntfy.Name)
	require.ErrorContains(t, err, "another kind")
	_, _, err = Parse("https://example.org/api/webhooks/123/abc", discord.Name)
	require.ErrorContains(t, err, "begins with https://discord.com/", "Discord does not learn another server's secret")
	_, _, err = Parse("https://example.org/", WebPush)
	require.ErrorContains(t, err, "no such kind")
}

func TestAddressesFromForms(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind   string
		fields map[string]string
		want   string // the URL, or the problem
	}{
		{email.Name, map[string]string{"to": "b@x.org", "from": "a@x.org", "server": "mail.x.org:465",
			"username": "ann@x.org", "password": "p/w"},
			"smtps://ann%40x.org:p%2Fw@mail.x.org:465/?from=a%40x.org&to=b%40x.org"},
		{ntfy.Name, map[string]string{"topic": " my-topic ", "token": "tk_1"}, "ntfy://:tk_1@ntfy.sh/my-topic"},
		{ntfy.Name, map[string]string{}, "Fill in: Topic."},
		{gotify.Name, map[string]string{"server": "http://push.lan/sub/", "token": "A1"},
			"gotify://push.lan/sub/A1?scheme=http"},
		{telegram.Name, map[string]string{"token": "110:AAH", "chats": "1, 2"},
			"telegram://110:AAH@telegram?chats=1%2C2"},
		{webhook.Name, map[string]string{"url": "https://example.org/hook"}, "https://example.org/hook"},
		{WebPush, map[string]string{}, "There's no such kind of channel."},
	} {
		kind, url, err := Build(row.kind, row.fields)
		if err == nil {
			require.Equal(t, row.kind, kind)
		}
		require.Equal(t, row.want, cmp.Or(url, Problem(err).String()))
	}
}
