package channels

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/SherClockHolmes/webpush-go"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// WebPush is the name of the kind of channel that a browser adds by itself.
const WebPush = "webpush"

const webPushEndpoint = "POST /{subscription}"

var webPush = Kind{
	Name:     WebPush,
	Label:    "Browser",
	Sent:     words.New("channel.webpush.sent"),
	Endpoint: webPushEndpoint,
	parse:    func(u *url.URL) (*url.URL, error) { return u, nil },
	shown: func(u *url.URL) words.Text {
		return words.New("reach.shown.webpush", "Host", u.Hostname())
	},
	send: sendWebPush,
}

// Vapid is the key pair that identifies this installation to push services.
type Vapid struct{ Private, Public string }

// NewVapid makes a key pair and returns it as one text.
func NewVapid() (string, error) {
	private, public, err := webpush.GenerateVAPIDKeys()
	return private + " " + public, err
}

// ReadVapid reads what NewVapid returned.
func ReadVapid(text string) Vapid {
	private, public, _ := strings.Cut(text, " ")
	return Vapid{private, public}
}

// Subscription is what a browser sends when it agrees to receive pushes.
type Subscription struct {
	_        struct{} `additionalProperties:"true"` // browsers say when it ends, too
	Endpoint string   `json:"endpoint" required:"false"`
	Keys     struct {
		P256dh string `json:"p256dh" required:"false"`
		Auth   string `json:"auth" required:"false"`
	} `json:"keys" required:"false"`
}

// URL returns the URL of the browser's channel.
func (s Subscription) URL() (string, error) {
	u, err := url.Parse(s.Endpoint)
	unsafe := err != nil || u.Host == "" || u.Scheme != "https" && !private(u.Hostname())
	if unsafe || s.Keys.P256dh == "" || s.Keys.Auth == "" {
		return "", wrong(words.New("reach.webpush.unfit"))
	}
	q := url.Values{"endpoint": {s.Endpoint}, "p256dh": {s.Keys.P256dh}, "auth": {s.Keys.Auth}}
	return (&url.URL{Scheme: "webpush", Host: u.Host, RawQuery: q.Encode()}).String(), nil
}

// PushAddress returns the address that identifies a browser at its push service, from its channel's kind and URL. It
// is empty for other channels.
func PushAddress(kind, kept string) string {
	u, err := url.Parse(kept)
	if err != nil || kind != WebPush {
		return ""
	}
	return u.Query().Get("endpoint")
}

var webPushUnknown = words.New("reach.webpush.rejected")

var webPushRefusals = refusals(words.New("reach.name.webpush"), providers.Table{
	{Status: 401, Meaning: stops(resilience.Config, webPushUnknown)},
	{Status: 403, Meaning: stops(resilience.Config, webPushUnknown)},
}, nil)

// webPushEnded lists the statuses that say that a browser has unsubscribed.
var webPushEnded = []int{http.StatusNotFound, http.StatusGone}

const (
	webPushLife = 24 * 60 * 60 // seconds for which a push service keeps a message that it cannot deliver
	webPushText = 2000         // bytes; a push holds about 4,000 in all
)

// sendWebPush pushes to a browser. The topic makes a message that is sent again replace the first where it still waits.
func sendWebPush(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	q := to.Query()
	payload, err := json.Marshal(map[string]string{
		"id":       m.ID,
		"severity": string(m.Severity),
		"title":    clip(m.Title, 250),
		"message":  clip(m.Text, webPushText),
		"url":      m.URL,
	})
	if err != nil {
		return err
	}
	urgency := webpush.UrgencyNormal
	if m.Severity == notify.Error {
		urgency = webpush.UrgencyHigh
	}
	_, err = webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{
		Endpoint: q.Get("endpoint"),
		Keys:     webpush.Keys{P256dh: q.Get("p256dh"), Auth: q.Get("auth")},
	}, &webpush.Options{
		HTTPClient:      pusher{call},
		Subscriber:      subscriber(c.self.Load().contact),
		Topic:           pushTopic(m.ID),
		TTL:             webPushLife,
		Urgency:         urgency,
		VAPIDPublicKey:  c.Vapid.Public,
		VAPIDPrivateKey: c.Vapid.Private,
	})
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !e.HTML && slices.Contains(webPushEnded, e.Status) {
		return errors.Join(notify.ErrUnsubscribed, err)
	}
	return err
}

// pusher makes the calls of the push library in the same way as all other calls.
type pusher struct{ call resilience.Call }

// Do implements webpush.HTTPClient.
func (p pusher) Do(req *http.Request) (*http.Response, error) {
	answer, err := webPushRefusals.Send(p.call, req, webPushEndpoint)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: answer.Status, Header: answer.Header, Body: http.NoBody}, nil
}

// pushTopic returns a message's id as a topic: at most 32 characters of base64url (RFC 8030, section 5.4).
func pushTopic(id string) string {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) > 24 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// subscriber returns the contact that push services are given: a mail or https address (RFC 8292, section 2.1).
func subscriber(contact string) string {
	if contact == "" || strings.HasPrefix(contact, "http://") {
		return "reprise@localhost.invalid"
	}
	return contact
}
