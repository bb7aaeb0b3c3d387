// Package channels sends notifications outside the browser: by ntfy, Gotify, Discord, Telegram, e-mail, a webhook, or
// web push.
//
// A channel is described by one URL, in the forms that other programs of this kind use, so that people can copy theirs.
// Everything about one kind of channel is a [Kind] in a file of its own. [Parse] reads what a person has typed and
// [Channels.Send] sends one message. Every error is of the resilience package and holds no part of the URL. The package
// neither retries, waits nor logs. A Channels is safe for concurrent use.
package channels

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

// Config is what sending needs.
type Config struct {
	Client *http.Client // on a transport.Transport
	// Dial connects to mail servers and may refuse an address; nil dials every address.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Vapid Vapid
	// Contact is the e-mail or web address of the administrator, for push services, and BaseURL the address of this
	// server as browsers reach it. Introduce changes both.
	Contact, BaseURL string
	// Told is called after every attempt that does not use Client, that is, after each mail; nil when nobody asks. See
	// [transport.Transport.Tell].
	Told func(context.Context, resilience.Call, transport.Attempt, error)

	// Screen decides what a person may read about a server that they have named; nil for everything.
	Screen *hosts.Screen

	discordURL, telegramURL string // other addresses of these services, for tests
}

// Channels sends messages. Make it with New.
type Channels struct {
	Config
	chats chatMemory
	self  atomic.Pointer[self]
}

// self is how this server introduces itself.
type self struct{ contact, baseURL string }

// Introduce changes how this server introduces itself; see Config.
func (c *Channels) Introduce(contact, baseURL string) { c.self.Store(&self{contact, baseURL}) }

// Introduced returns how this server introduces itself now.
func (c *Channels) Introduced() (contact, baseURL string) {
	now := c.self.Load()
	return now.contact, now.baseURL
}

// New returns Channels.
func New(c Config) *Channels {
	if c.discordURL == "" {
		c.discordURL = "https://discord.com"
	}
	if c.telegramURL == "" {
		c.telegramURL = "https://api.telegram.org"
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: hosts.ConnectTimeout}).DialContext
	}
	all := &Channels{Config: c, chats: chatMemory{got: map[string]bool{}}}
	all.Introduce(c.Contact, c.BaseURL)
	return all
}

// Send implements notify.Sender. The address is one that Parse or Build has returned.
func (c *Channels) Send(
	ctx context.Context, call resilience.Call, kind string, address resilience.Secret, m notify.Message,
) error {
	k, ok := KindOf(kind)
	if !ok {
		return wrong(words.New("reach.kind"))
	}
	to, err := url.Parse(string(address))
	if err != nil {
		return wrong(words.New("reach.unreadable"))
	}
	call.Client = c.Client
	send := func(ctx context.Context) error { return k.send(ctx, c, call, to, m) }
	if k.fixed {
		return send(ctx)
	}
	if call.Eager {
		return c.Screen.Try(ctx, call, to.Host, send)
	}
	return c.Screen.Hide(ctx, call, to.Host, send(ctx))
}

// wrong returns the error for an address that cannot be used. The problem is a sentence that repeats nothing of it.
func wrong(problem words.Text) error {
	return &resilience.SettingError{Setting: "channel", Problem: problem}
}

// Problem returns what is wrong with what a person has typed, as a sentence; empty for any other error.
func Problem(err error) words.Text {
	if e, ok := err.(*resilience.SettingError); ok {
		return words.Of(e.Problem)
	}
	return words.Text{}
}
