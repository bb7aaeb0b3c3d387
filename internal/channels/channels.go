// Package channels tells people outside the browser: by ntfy, Gotify, Discord, Telegram, e-mail, a webhook, or a push to
// a browser that agreed.
//
// A channel is described by one URL, in the forms that other programs of this kind use, so that people can copy theirs.
// Parse reads what a person has typed; Send sends one message and reports facts: every error is one of the resilience
// package, and none holds a part of the URL. Nothing in here retries, waits or logs. A Channels is safe for concurrent
// use.
package channels

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// The kinds of channels.
const (
	Ntfy     = "ntfy"
	Gotify   = "gotify"
	Discord  = "discord"
	Telegram = "telegram"
	Email    = "email"
	Webhook  = "webhook"
	WebPush  = "webpush"
)

// Config is what sending needs.
type Config struct {
	Client *http.Client // on a resilience.Transport
	// Dial connects to mail servers; it has the say about every address.
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Vapid   Vapid
	Contact string // e-mail or web address of the administrator, for push services
	BaseURL string // as browsers reach the server
	// Told, when it is set, is told of every attempt that goes another way than by Client: those at mail servers.
	Told func(ctx context.Context, host, endpoint string, start time.Time, err error)
	// DiscordURL and TelegramURL replace the addresses of these services, for tests and the demo.
	DiscordURL, TelegramURL string
}

// Channels sends messages. Make it with New.
type Channels struct {
	Config
	senders map[string]func(context.Context, string, notify.Message) error

	mu   sync.Mutex
	told map[string]bool // which chats have got a message of which others have not
}

// New returns Channels.
func New(c Config) *Channels {
	if c.DiscordURL == "" {
		c.DiscordURL = "https://discord.com"
	}
	if c.TelegramURL == "" {
		c.TelegramURL = "https://api.telegram.org"
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: resilience.ConnectTimeout}).DialContext
	}
	s := &Channels{Config: c, told: map[string]bool{}}
	s.senders = map[string]func(context.Context, string, notify.Message) error{Ntfy: s.ntfy, Gotify: s.gotify, Discord: s.discord, Telegram: s.telegram,
		Email: s.email, Webhook: s.webhook, WebPush: s.webpush}
	return s
}

// Endpoints are what each kind of channel calls, as methods and route templates.
func Endpoints() map[string][]string {
	return map[string][]string{Ntfy: {ntfyEndpoint}, Gotify: {gotifyEndpoint}, Discord: {discordEndpoint}, Telegram: {telegramEndpoint}, Email: {mailEndpoint},
		Webhook: {webhookEndpoint}, WebPush: {pushEndpoint}}
}

const (
	ntfyEndpoint     = "POST /"
	gotifyEndpoint   = "POST /message"
	discordEndpoint  = "POST /api/webhooks/{id}/{token}"
	telegramEndpoint = "POST /bot{token}/sendMessage"
	mailEndpoint     = "SMTP"
	webhookEndpoint  = "POST /{webhook}"
	pushEndpoint     = "POST /{subscription}"
)

// Send implements notify.Sender.
func (s *Channels) Send(ctx context.Context, kind string, url resilience.Secret, m notify.Message) error {
	send, ok := s.senders[kind]
	if !ok {
		return &resilience.SettingError{Setting: "channel", Problem: "This version of Reprise does not know this kind of channel."}
	}
	return send(ctx, string(url), m)
}

// wrong is what is wrong with an address, as a sentence that repeats nothing of it.
func wrong(problem string) error {
	return &resilience.SettingError{Setting: "channel", Problem: problem}
}

// Problem is what is wrong with what a person has typed, as a sentence; empty for another error.
func Problem(err error) string {
	if e, ok := err.(*resilience.SettingError); ok {
		return e.Problem
	}
	return ""
}

// refusals is how a service says no: its table, and where it keeps its words.
func refusals(name string, own providers.Table, explain func(*resilience.AnswerError)) providers.Refusals {
	means := func(class resilience.Class, category resilience.Category, scope resilience.Scope, advice string) resilience.Meaning {
		return resilience.Meaning{Class: class, Category: category, Scope: scope, Advice: advice}
	}
	table := append(own[:len(own):len(own)],
		providers.Row{Status: 401, Meaning: means(resilience.Fatal, resilience.Auth, resilience.ScopeConnection, name+" does not accept the sign-in. Check the token, or the name and the password.")},
		providers.Row{Status: 403, Meaning: means(resilience.Fatal, resilience.Auth, resilience.ScopeConnection, name+" does not let us send there. Check the token, or what it may do.")},
		providers.Row{Status: 404, Meaning: means(resilience.Fatal, resilience.Config, resilience.ScopeConnection, name+" does not know this address. Check it.")},
		providers.Row{Status: 405, Meaning: means(resilience.Fatal, resilience.Config, resilience.ScopeConnection, name+" does not take messages at this address. Check it.")},
		providers.Row{Status: 410, Meaning: means(resilience.Fatal, resilience.Config, resilience.ScopeConnection, name+" says that this address is gone. Make a new one there.")},
		providers.Row{Status: 413, Meaning: means(resilience.Fatal, resilience.Item, resilience.ScopeItem, name+" did not take a message because it is too long.")},
		providers.Row{Status: 429, Meaning: means(resilience.Retriable, resilience.RateLimit, resilience.ScopeApp, name+" asks us to send less often.")})
	return providers.Refusals{Table: table, Explain: explain}
}

// post sends v as JSON. header is added to the request's.
func (s *Channels) post(ctx context.Context, r providers.Refusals, address, endpoint string, header http.Header, v any) (*resilience.Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, wrong("This is not an address that can be called.")
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	return r.Call(s.Client, req, endpoint)
}

// clip shortens a text to so many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// waitFor notes a wait in seconds that stands in the body of an answer, when its header names none.
func waitFor(e *resilience.AnswerError, seconds float64) {
	if e.NotBefore.IsZero() && seconds > 0 && seconds < 48*3600 {
		e.NotBefore, e.BadWait = time.Now().Add(time.Duration(seconds*float64(time.Second))), false
	}
}

// lastFour is the end of a secret, by which its owner knows it.
func lastFour(secret string) string {
	if len(secret) < 8 {
		return "…"
	}
	return "…" + secret[len(secret)-4:]
}

// private says whether a host is one at home: its connection need not be protected.
func private(host string) bool {
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	for _, home := range []string{".local", ".lan", ".internal", ".home.arpa", ".localhost"} {
		if strings.HasSuffix(host, home) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
