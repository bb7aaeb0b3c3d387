package channels

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/SherClockHolmes/webpush-go"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Vapid is the key pair by which push services know this installation.
type Vapid struct{ Private, Public string }

// NewVapid makes a key pair and writes it as one text.
func NewVapid() (string, error) {
	private, public, err := webpush.GenerateVAPIDKeys()
	return private + " " + public, err
}

// ReadVapid reads what NewVapid wrote.
func ReadVapid(text string) Vapid {
	private, public, _ := strings.Cut(text, " ")
	return Vapid{private, public}
}

// Subscription is what a browser tells of itself when it agrees to be told.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// URL is the URL of the browser's channel.
func (s Subscription) URL() (string, error) {
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" && !private(u.Hostname()) || u.Host == "" || s.Keys.P256dh == "" || s.Keys.Auth == "" {
		return "", wrong("This is not what a browser says when it agrees to be told.")
	}
	return (&url.URL{Scheme: "webpush", Host: u.Host, RawQuery: url.Values{"endpoint": {s.Endpoint}, "p256dh": {s.Keys.P256dh}, "auth": {s.Keys.Auth}}.Encode()}).String(), nil
}

func shownPush(u *url.URL) string { return "Browser, by " + u.Hostname() }

// Endpoint is the address by which a browser's channel is known, empty for other channels.
func Endpoint(kind, text string) string {
	u, err := url.Parse(text)
	if err != nil || kind != WebPush {
		return ""
	}
	return u.Query().Get("endpoint")
}

var pushRefusals = refusals("The browser's push service", providers.Table{
	{Status: 401, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection, Advice: "The browser's push service does not accept this installation any more. Remove this browser here, and add it once more."}},
	{Status: 403, Meaning: resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection, Advice: "The browser's push service does not accept this installation any more. Remove this browser here, and add it once more."}},
}, nil)

// pusher lets the push library send as every other call is sent.
type pusher struct{ client *http.Client }

// Do implements webpush.HTTPClient.
func (p pusher) Do(req *http.Request) (*http.Response, error) {
	answer, err := pushRefusals.Call(p.client, req, pushEndpoint)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: answer.Status, Header: answer.Header, Body: http.NoBody}, nil
}

const (
	pushLife = 24 * 60 * 60 // seconds for which a push service keeps what it cannot deliver
	pushText = 2000         // bytes; a push holds about 4,000 in all
)

// webpush pushes to a browser. The topic makes what is sent again replace what still waits there.
func (s *Channels) webpush(ctx context.Context, text string, m notify.Message) error {
	u, err := url.Parse(text)
	if err != nil {
		return wrong("The address of this channel cannot be read.")
	}
	q := u.Query()
	payload, err := json.Marshal(map[string]string{"id": m.ID, "severity": string(m.Severity), "title": clip(m.Title, 250), "message": clip(m.Text, pushText), "url": m.URL})
	if err != nil {
		return err
	}
	urgency := webpush.UrgencyNormal
	if m.Severity == notify.Error {
		urgency = webpush.UrgencyHigh
	}
	_, err = webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{Endpoint: q.Get("endpoint"), Keys: webpush.Keys{P256dh: q.Get("p256dh"), Auth: q.Get("auth")}},
		&webpush.Options{HTTPClient: pusher{s.Client}, Subscriber: s.subscriber(), Topic: topicOf(m.ID), TTL: pushLife, Urgency: urgency,
			VAPIDPublicKey: s.Vapid.Public, VAPIDPrivateKey: s.Vapid.Private})
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !e.HTML && (e.Status == http.StatusNotFound || e.Status == http.StatusGone) {
		return errors.Join(notify.ErrUnsubscribed, err)
	}
	return err
}

// topicOf is a message's number as a push service takes it: at most 32 characters of base64url (RFC 8030, section 5.4).
func topicOf(id string) string {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) > 24 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// subscriber is whom a push service writes to about us: a mail or web address (RFC 8292, section 2.1).
func (s *Channels) subscriber() string {
	if s.Contact == "" || strings.HasPrefix(s.Contact, "http://") { // which the standard does not take
		return "reprise@localhost.invalid"
	}
	return s.Contact
}
