package channels

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const webhookEndpoint = "POST /{webhook}"

var webhook = Kind{
	Name:     "webhook",
	Label:    "Webhook",
	Help:     words.New("channel.webhook.help"),
	Sent:     words.New("channel.webhook.sent"),
	Endpoint: webhookEndpoint,
	Fields:   []providers.Field{{Name: "url", Label: words.New("channel.webhook.url"), Kind: "url"}},
	schemes:  []string{"generic", "generic+http", "generic+https"},
	parse:    parseWebhook,
	build:    pasted("url"),
	shown:    func(u *url.URL) words.Text { return words.Plain(u.Host + "/" + lastFour(u.Path+u.RawQuery)) },
	send:     sendWebhook,
}

// parseWebhook returns the plain web address, which schemes such as generic+https wrap.
func parseWebhook(u *url.URL) (*url.URL, error) {
	scheme, _ := strings.CutPrefix(strings.ToLower(u.Scheme), "generic+")
	to := *u
	to.Scheme, to.Fragment = scheme, ""
	if scheme == "generic" {
		to.Scheme = "https"
		q := to.Query()
		if plainHTTP(u) {
			to.Scheme = "http"
		}
		maps.DeleteFunc(q, func(name string, _ []string) bool { return strings.EqualFold(name, "disabletls") })
		to.RawQuery = q.Encode()
	}
	return &to, nil
}

var webhookRefusals = refusals(words.New("reach.name.webhook"), nil, nil)

// webhookEvent is the body of a call.
type webhookEvent struct {
	ID         string         `json:"id"`
	Event      string         `json:"event"`
	Severity   string         `json:"severity"`
	Title      string         `json:"title"`
	Message    string         `json:"message"`
	Provider   string         `json:"provider"`
	Category   string         `json:"category"`
	CreatedAt  *string        `json:"created_at"`
	ResolvedAt *string        `json:"resolved_at"`
	URL        string         `json:"url,omitempty"`
	Items      []webhookEvent `json:"items,omitempty"`
}

func newWebhookEvent(m notify.Message) webhookEvent {
	v := webhookEvent{
		ID:         m.ID,
		Event:      string(m.Event),
		Severity:   string(m.Severity),
		Title:      m.Title,
		Message:    m.Text,
		Provider:   m.Connection.Provider(),
		Category:   m.Category,
		CreatedAt:  stamp(m.CreatedAt),
		ResolvedAt: stamp(m.ResolvedAt),
		URL:        m.URL,
	}
	for _, i := range m.Items {
		v.Items = append(v.Items, webhookEvent{
			Event:      string(i.Event),
			Severity:   string(i.Severity),
			Title:      i.Title,
			Message:    i.Text,
			Provider:   i.Connection.Provider(),
			Category:   i.Category,
			CreatedAt:  stamp(i.CreatedAt),
			ResolvedAt: stamp(i.ResolvedAt),
		})
	}
	return v
}

// stamp returns a time as JSON has it; nil for the zero time.
func stamp(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := library.Stamp(at)
	return &text
}

// sendWebhook calls the person's program. What it answers to a message that it takes is ignored, even a page.
func sendWebhook(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	header := http.Header{"Idempotency-Key": {m.ID}}
	if to.User != nil {
		signIn(header, to.User)
		to.User = nil
	}
	taken := webhookRefusals
	taken.Pages = true
	return c.post(ctx, call, request{
		endpoint: webhookEndpoint,
		refusals: taken,
		address:  to.String(),
		header:   header,
		body:     newWebhookEvent(m),
	})
}
