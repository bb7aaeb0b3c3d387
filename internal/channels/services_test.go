package channels

import (
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
	"reprise/internal/resilience"
)

var update = flag.Bool("update", false, "write golden files anew")

// far is what a service hears, and answers.
type far struct {
	*httptest.Server
	mu     sync.Mutex
	heard  []string
	status int
	header http.Header
	body   string
}

func newFar(t *testing.T) *far {
	f := &far{status: http.StatusOK, body: "{}"}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		defer f.mu.Unlock()
		var text strings.Builder
		text.WriteString(r.Method + " " + r.URL.RequestURI() + "\n")
		for _, name := range []string{"Authorization", "Content-Type", "Idempotency-Key", "X-Gotify-Key", "X-Sequence-Id"} {
			if v := r.Header.Get(name); v != "" {
				text.WriteString(name + ": " + v + "\n")
			}
		}
		var v any
		if json.Unmarshal(body, &v) == nil {
			pretty, _ := json.MarshalIndent(v, "", "  ")
			body = pretty
		}
		f.heard = append(f.heard, text.String()+"\n"+string(body)+"\n")
		maps.Copy(w.Header(), f.header)
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, f.body)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *far) host() string { return strings.TrimPrefix(f.URL, "http://") }

func (f *far) channels() *Channels {
	client := resilience.NewClient(&resilience.Transport{Base: resilience.NewBase(nil)})
	return New(Config{Client: client, DiscordURL: f.URL, TelegramURL: f.URL, BaseURL: "https://reprise.example.org"})
}

var at = time.Date(2027, 1, 14, 9, 12, 0, 0, time.UTC)

func sample() notify.Message {
	return notify.Message{ID: "000102030405060708090a0b0c0d0e0f", Event: notify.Opened, Severity: notify.Error, Title: "Spotify needs to be reconnected",
		Text: "Your permission ended on 14 January. “Ágætis”.", Provider: "spotify", Category: "auth", URL: "https://reprise.example.org/connect/spotify", CreatedAt: at}
}

// urls are a channel of each kind that is one POST, at this service.
func (f *far) urls() map[string]string {
	return map[string]string{Ntfy: "ntfy://:tk_secret99@" + f.host() + "/topic?scheme=http", Gotify: "gotify://" + f.host() + "/sub/Asecret99?scheme=http", Discord: "discord://secret99@1234",
		Telegram: "telegram://110:secret99@telegram?chats=42", Webhook: "http://" + f.host() + "/hook?key=secret99"}
}

func TestWhatEachServiceIsSent(t *testing.T) {
	t.Parallel()
	for kind := range newFar(t).urls() {
		f := newFar(t)
		require.NoError(t, f.channels().Send(t.Context(), kind, resilience.Secret(f.urls()[kind]), sample()), kind)
		if kind == Webhook {
			digest := sample()
			digest.Event, digest.Title, digest.Text = notify.Digest, "2 things happened", "• One\n• Two"
			digest.Items = []notify.Item{{Event: notify.Opened, Severity: notify.Error, Title: "One", Text: "It is.", CreatedAt: at}, {Event: notify.Resolved, Severity: notify.Success, Title: "Two", CreatedAt: at, ResolvedAt: at.Add(time.Hour)}}
			require.NoError(t, f.channels().Send(t.Context(), kind, resilience.Secret(f.urls()[kind]), digest))
		}
		golden, got := "testdata/"+kind+".golden", strings.Join(f.heard, "\n")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got, kind)
	}
}

func TestWhatARefusalMeans(t *testing.T) {
	t.Parallel()
	const wait = 90 * time.Second
	for name, row := range map[string]struct {
		kind     string
		status   int
		header   http.Header
		body     string
		class    resilience.Class
		category resilience.Category
		held     bool
	}{
		"ntfy, wrong token":        {Ntfy, 401, nil, `{"code":40101,"error":"unauthorized"}`, resilience.Fatal, resilience.Auth, false},
		"ntfy, not allowed":        {Ntfy, 403, nil, `{"code":40301}`, resilience.Fatal, resilience.Auth, false},
		"ntfy, no such address":    {Ntfy, 404, nil, `{}`, resilience.Fatal, resilience.Config, false},
		"ntfy, bad message":        {Ntfy, 400, nil, `{}`, resilience.Fatal, resilience.Item, false},
		"ntfy, too long":           {Ntfy, 413, nil, `{}`, resilience.Fatal, resilience.Item, false},
		"ntfy, too often":          {Ntfy, 429, http.Header{"Retry-After": {"90"}}, `{"code":42901}`, resilience.Retriable, resilience.RateLimit, true},
		"ntfy, no more today":      {Ntfy, 429, nil, `{"code":42908,"error":"limit reached"}`, resilience.Retriable, resilience.Quota, true},
		"ntfy, out of order":       {Ntfy, 503, nil, ``, resilience.Retriable, resilience.Upstream, false},
		"gotify, wrong token":      {Gotify, 401, nil, `{"errorDescription":"you need to provide a valid access token"}`, resilience.Fatal, resilience.Auth, false},
		"gotify, bad message":      {Gotify, 400, nil, `{}`, resilience.Fatal, resilience.Item, false},
		"gotify, another server":   {Gotify, 404, nil, `{}`, resilience.Fatal, resilience.Config, false},
		"discord, webhook gone":    {Discord, 404, nil, `{"message":"Unknown Webhook","code":10015}`, resilience.Fatal, resilience.Config, false},
		"discord, wrong token":     {Discord, 401, nil, `{"message":"Invalid Webhook Token","code":50027}`, resilience.Fatal, resilience.Config, false},
		"discord, bad message":     {Discord, 400, nil, `{"code":50006}`, resilience.Fatal, resilience.Item, false},
		"discord, too often":       {Discord, 429, nil, `{"message":"You are being rate limited.","retry_after":90.5,"global":false}`, resilience.Retriable, resilience.RateLimit, true},
		"telegram, no such bot":    {Telegram, 401, nil, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, resilience.Fatal, resilience.Auth, false},
		"telegram, malformed bot":  {Telegram, 404, nil, `{"ok":false,"error_code":404,"description":"Not Found"}`, resilience.Fatal, resilience.Auth, false},
		"telegram, blocked":        {Telegram, 403, nil, `{"ok":false,"description":"Forbidden: bot was blocked by the user"}`, resilience.Fatal, resilience.Permission, false},
		"telegram, no such chat":   {Telegram, 400, nil, `{"ok":false,"description":"Bad Request: chat not found"}`, resilience.Fatal, resilience.Config, false},
		"telegram, bad message":    {Telegram, 400, nil, `{"ok":false,"description":"Bad Request: message text is empty"}`, resilience.Fatal, resilience.Item, false},
		"telegram, too often":      {Telegram, 429, nil, `{"ok":false,"parameters":{"retry_after":90}}`, resilience.Retriable, resilience.RateLimit, true},
		"webhook, not allowed":     {Webhook, 403, nil, ``, resilience.Fatal, resilience.Auth, false},
		"webhook, gone":            {Webhook, 410, nil, ``, resilience.Fatal, resilience.Config, false},
		"webhook, takes no POST":   {Webhook, 405, nil, ``, resilience.Fatal, resilience.Config, false},
		"webhook, refused message": {Webhook, 422, nil, ``, resilience.Fatal, resilience.Item, false},
		"webhook, broken":          {Webhook, 500, nil, ``, resilience.Retriable, resilience.Upstream, false},
	} {
		f := newFar(t)
		f.status, f.header, f.body = row.status, row.header, row.body
		err := f.channels().Send(t.Context(), row.kind, resilience.Secret(f.urls()[row.kind]), sample())
		require.Error(t, err, name)
		v := resilience.Classify(err)
		require.Equal(t, row.class, v.Class, name)
		require.Equal(t, row.category, v.Category, name)
		require.Equal(t, row.held, !v.NotBefore.IsZero(), name)
		if row.held && v.Category == resilience.RateLimit {
			require.WithinDuration(t, time.Now().Add(wait), v.NotBefore, 5*time.Second, name)
		}
		require.NotContains(t, err.Error(), "secret99", name)
	}
}

func TestAWebhookMayAnswerWithAPage(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	f.header, f.body = http.Header{"Content-Type": {"text/html"}}, "<html>ok</html>"
	c := f.channels()
	c.Client.Transport.(*resilience.Transport).Breakers = resilience.NewBreakers(resilience.BreakerOptions{})
	for range 10 { // nor does it count as a failure
		require.NoError(t, c.Send(t.Context(), Webhook, resilience.Secret(f.urls()[Webhook]), sample()))
	}
	f.status = http.StatusNotFound
	err := c.Send(t.Context(), Webhook, resilience.Secret(f.urls()[Webhook]), sample())
	require.Equal(t, resilience.Retriable, resilience.Classify(err).Class, "a page that says no may be that of somebody in between")
}

func TestAChatThatHasGotAMessageDoesNotGetItAgain(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	var chats []string
	broken := true
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	c, url := f.channels(), resilience.Secret("telegram://1:a@telegram?chats=1,2")
	require.Error(t, c.Send(t.Context(), Telegram, url, sample()))
	broken = false
	require.NoError(t, c.Send(t.Context(), Telegram, url, sample()))
	require.Equal(t, []string{"1", "2"}, chats)
}

func TestAddressesAreReadInAllTheirForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ntfy://ntfy.sh/my-topic":                                                   "ntfy ntfy://ntfy.sh/my-topic ntfy.sh/…opic",
		"https://ntfy.sh/my-topic":                                                  "ntfy ntfy://ntfy.sh/my-topic ntfy.sh/…opic",
		"ntfy://ann:pw@push.example.org:8080/my-topic?scheme=http":                  "ntfy ntfy://ann:pw@push.example.org:8080/my-topic?scheme=http push.example.org:8080/…opic",
		"gotify://push.example.org/sub/Abcdefghij?disableTLS=yes":                   "gotify gotify://push.example.org/sub/Abcdefghij?scheme=http push.example.org/…ghij",
		"https://discord.com/api/webhooks/123/abc-DEF_ghi":                          "discord discord://abc-DEF_ghi@123 discord.com/…_ghi",
		"https://example.org/api/webhooks/123/abc-DEF_ghi":                          "webhook https://example.org/api/webhooks/123/abc-DEF_ghi example.org/…_ghi",
		"discord://abcdefgh@123":                                                    "discord discord://abcdefgh@123 discord.com/…efgh",
		"telegram://110:AAH@telegram?channels=1,2":                                  "telegram telegram://110:AAH@telegram?chats=1%2C2 Telegram, chat 1,2",
		"smtp://ann:pw@mail.example.org:587/?from=a@example.org&to=b@x.org,c@x.org": "email smtp://ann:pw@mail.example.org:587/?from=a%40example.org&to=b%40x.org%2Cc%40x.org b@x.org,c@x.org by mail.example.org",
		"generic+https://example.org/hook?a=b":                                      "webhook https://example.org/hook?a=b example.org/…ka=b",
		"generic://example.org/hook12345?disabletls=yes":                            "webhook http://example.org/hook12345 example.org/…2345",
		"https://example.org/hook12345":                                             "webhook https://example.org/hook12345 example.org/…2345",
	} {
		kind, url, err := Parse(text, "")
		require.NoError(t, err, text)
		require.Equal(t, want, kind+" "+url+" "+Shown(kind, url))
		again, same, err := Parse(url, kind)
		require.NoError(t, err, url)
		require.Equal(t, kind+url, again+same, "what is kept can be read again")
	}
	for _, text := range []string{"", "secret99", "secret99://x/y", "ntfy://x/sec ret99", "ntfy://x/", "gotify://x", "discord://secret99", "discord://secret99@abc", "telegram://secret99@telegram?chats=1",
		"telegram://1:secret99@telegram", "smtp://u:secret99@x/?from=a", "https://x:secret99:y/", "%secret99"} {
		_, _, err := Parse(text, "")
		require.Error(t, err, text)
		require.NotEmpty(t, Problem(err), text)
		require.NotContains(t, Problem(err), "secret99")
	}
	_, _, err := Parse("discord://a@1", Ntfy)
	require.ErrorContains(t, err, "another kind")
	_, _, err = Parse("https://example.org/api/webhooks/123/abc", Discord)
	require.ErrorContains(t, err, "begins with https://discord.com/", "what is another server's is not told to Discord")
	kind, url, err := Build(Email, map[string]string{"to": "b@x.org", "from": "a@x.org", "server": "mail.x.org:465", "username": "ann@x.org", "password": "p/w"})
	require.NoError(t, err)
	require.Equal(t, "email smtps://ann%40x.org:p%2Fw@mail.x.org:465/?from=a%40x.org&to=b%40x.org", kind+" "+url)
	_, _, err = Build(Ntfy, map[string]string{})
	require.ErrorContains(t, err, "Fill in: Topic.")
}
