package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/words"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

// mostItems is how many items a digest names; the others are counted.
const mostItems = 20

// idOf returns an id that is the same for the same message.
func idOf(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintln(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writer writes messages to one person.
type writer struct {
	*post
	language *words.Language
	now      time.Time // in the zone of the reader
}

// writerTo returns a writer of messages for a channel: in the language of its person, and with times in their zone,
// else in that of the channel.
func (c *post) writerTo(ctx context.Context, ch Channel) writer {
	if c.opt.Reader != nil {
		ctx = c.opt.Reader(ctx, ch.User)
	}
	return writer{post: c, language: words.From(ctx), now: time.Now().In(ch.ZoneFor(ctx))}
}

// say puts a text into the words of a message.
func (c writer) say(t words.Text) string { return c.language.Plain(t.In(c.language), c.now) }

func (c writer) item(w Waiting) Item {
	i := Item{Event: w.Event, Severity: w.Severity, Title: c.say(w.Title), Text: c.say(w.Message),
		Connection: w.Connection, Category: w.Category, CreatedAt: w.OpenedAt, ResolvedAt: w.ResolvedAt}
	if w.Event == Resolved {
		i.Severity = Success
		title, text := c.recovery(w)
		i.Title, i.Text = c.say(title), c.say(words.Join(text, w.catchUp()))
	}
	return i
}

// catchUp says what was read and sent since a trouble ended; empty for nothing.
func (w Waiting) catchUp() words.Text {
	var read words.Text
	if w.CaughtUp > 0 {
		read = words.New("channels.caught_up", "Count", w.CaughtUp)
	}
	switch sent, left := !w.Sent.IsZero(), !w.ToSend.IsZero(); {
	case sent && left:
		return words.Join(read, words.New("channels.sent_so_far", "What", w.Sent, "Rest", w.ToSend))
	case left:
		return words.Join(read, words.New("channels.to_send", "What", w.ToSend))
	case sent && w.CaughtUp > 0:
		return words.New("channels.caught_up_and_sent", "Count", w.CaughtUp, "What", w.Sent)
	case sent:
		return words.New("channels.sent", "What", w.Sent)
	}
	return read
}

// recovery words the end of a trouble, and how long it took.
func (c writer) recovery(w Waiting) (title, text words.Text) {
	took := words.Took(w.ResolvedAt.Sub(w.OpenedAt))
	if w.Connection != "" && (w.Severity == Error || w.Cause == CauseStill) {
		name := library.Connection{ID: w.Connection, Name: w.Name}.Label(c.opt.Service(w.Connection.Provider()))
		return words.New("message.works.title", "Name", name),
			words.New("message.works.text", "Name", name, "Took", took)
	}
	return words.New("message.over.title", "Title", w.Title), words.New("message.over.text", "Took", took)
}

func (c writer) message(ch Channel, w Waiting) Message {
	i := c.item(w)
	return Message{ID: idOf(ch.ID, w.Notification, w.OpenedAt.UnixMilli(), w.Event), Event: i.Event,
		Severity: i.Severity, Title: i.Title, Text: i.Text, Connection: i.Connection,
		Category: i.Category, URL: c.baseURL() + cmp.Or(w.ActionURL,
			"/notifications"), CreatedAt: i.CreatedAt, ResolvedAt: i.ResolvedAt}
}

// digest returns one message about many; those that waited too long are only counted.
func (c writer) digest(ch Channel, fresh []Waiting, old int) Message {
	m := Message{Event: Digest, Severity: Info, URL: c.baseURL() + "/notifications", CreatedAt: c.now}
	parts := []any{ch.ID, old}
	var lines []string
	for n, w := range fresh {
		i := c.item(w)
		m.Items = append(m.Items, i)
		if i.Severity.AtLeast(m.Severity) {
			m.Severity = i.Severity
		}
		if parts = append(parts, w.ID); n < mostItems {
			lines = append(lines, "• "+i.Title)
		}
	}
	m.ID = idOf(parts...)
	if more := len(fresh) - mostItems; more > 0 {
		lines = append(lines, c.say(words.New("message.more", "Count", more)))
	}
	if old > 0 {
		lines = append(lines, c.say(words.New("message.too_old", "Count", old)))
	}
	m.Title = c.say(words.New("message.several", "Count", len(fresh)+old))
	m.Text = strings.Join(lines, "\n")
	return m
}

// troubleWith returns in words why a message could not be sent.
func troubleWith(ch Channel, v resilience.Verdict, err error) words.Text {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !providers.Advice(e).IsZero() {
		return providers.Advice(e)
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return words.Of(e.Problem)
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return words.Of(e.Problem)
	}
	if _, ok := errors.AsType[*hosts.ScreenedError](err); ok {
		return words.Join(words.New("message.trouble.screened"), askAbout())
	}
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		if e.Offline {
			return words.New("message.trouble.offline")
		}
		return words.New("message.trouble.resting")
	}
	if v.Category == resilience.None || v.Category == resilience.CircuitOpen {
		return words.Text{}
	}
	return words.Each("message.trouble.", v.Category.String())
}

func failingWords(ch Channel, reason words.Text, dropped bool) Words {
	next := words.New("message.failing.dropped")
	switch {
	case dropped:
	case ch.Waiting == 0:
		next = words.New("message.failing.keeps")
	default:
		next = words.New("message.failing.waiting", "Count", ch.Waiting)
	}
	return Words{Title: words.New("message.failing.title", "Channel", ch.Name), Owner: Nobody,
		Message: words.Join(words.New("message.failing.message", "Channel", ch.Name), reason, next)}
}

func stoppedWords(ch Channel, reason words.Text) Words {
	return Words{Title: words.New("message.stopped.title", "Channel", ch.Name), Owner: Person,
		Message: words.Join(words.New("message.stopped.message", "Channel", ch.Name), reason,
			words.New("message.stopped.next"))}
}
