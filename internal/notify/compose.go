package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
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

func (c *post) item(w Waiting) Item {
	i := Item{Event: w.Event, Severity: w.Severity, Title: w.Title, Text: w.Message, Connection: w.Connection,
		Category: w.Category, CreatedAt: w.OpenedAt, ResolvedAt: w.ResolvedAt}
	if w.Event == Resolved {
		i.Severity = Success
		i.Title, i.Text = c.recovery(w)
		if w.CaughtUp > 0 {
			i.Text += " " + words.New("channels.caught_up", "Count", w.CaughtUp).String()
		}
	}
	return i
}

// recovery words the end of a trouble, and how long it took.
func (c *post) recovery(w Waiting) (title, text string) {
	after := "after " + spell(w.ResolvedAt.Sub(w.OpenedAt))
	if w.Connection != "" && (w.Severity == Error || w.Cause == CauseStill) {
		name := library.Connection{ID: w.Connection, Name: w.Name}.Label(c.opt.Service(w.Connection.Provider()))
		return name + " works again", fmt.Sprintf("%s works again %s.", name, after)
	}
	return "Over: " + w.Title, "It lasted " + spell(w.ResolvedAt.Sub(w.OpenedAt)) + "."
}

// spell writes a duration as people say it.
func spell(d time.Duration) string {
	count := func(n int, one string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %ss", n, one)
	}
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int(d.Round(time.Minute)/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int(d.Round(time.Hour)/time.Hour), "hour")
	}
	return count(int(d.Round(24*time.Hour)/(24*time.Hour)), "day")
}

func (c *post) message(ch Channel, w Waiting) Message {
	i := c.item(w)
	return Message{ID: idOf(ch.ID, w.Notification, w.OpenedAt.UnixMilli(), w.Event), Event: i.Event,
		Severity: i.Severity, Title: i.Title, Text: i.Text, Connection: i.Connection,
		Category: i.Category, URL: c.baseURL() + cmp.Or(w.ActionURL,
			"/notifications"), CreatedAt: i.CreatedAt, ResolvedAt: i.ResolvedAt}
}

// digest returns one message about many; those that waited too long are only counted.
func (c *post) digest(ch Channel, fresh []Waiting, old int) Message {
	m := Message{Event: Digest, Severity: Info, URL: c.baseURL() + "/notifications", CreatedAt: time.Now()}
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
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	switch {
	case old == 1:
		lines = append(lines,
			"One message could not be sent for more than three days. It stands on the page of notifications.")
	case old > 1:
		lines = append(lines,
			fmt.Sprintf("%d messages could not be sent for more than three days. They stand on the page of "+
				"notifications.", old))
	}
	if n := len(fresh) + old; n == 1 {
		m.Title = "One thing happened"
	} else {
		m.Title = fmt.Sprintf("%d things happened", n)
	}
	m.Text = strings.Join(lines, "\n")
	return m
}

// trouble are the words for failures of a channel about which its own table says nothing.
var trouble = map[resilience.Category]string{
	resilience.Auth:       "The sign-in is not accepted. Check the token, the name and the password.",
	resilience.Permission: "It does not allow messages to be sent there.",
	resilience.Config:     "It does not work with the address it has now. Check each field.",
	resilience.RateLimit:  "It asks us to send less often.",
	resilience.Quota:      "What it allows is used up for now.",
	resilience.Upstream:   "It has trouble at the moment.",
	resilience.Network:    "There is no answer. Check the address, and that it can be reached from this server.",
	resilience.Contract: "It answers in a way that Reprise does not understand. Check that the address is the " +
		"right one.",
	resilience.Item:    "It did not take the message.",
	resilience.Unknown: "It did not work, and the reason is not known. The server's log has the details.",
}

// troubleWith returns in words why a message could not be sent.
func troubleWith(ch Channel, v resilience.Verdict, err error) string {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && e.Meaning.Advice != "" {
		return e.Meaning.Advice
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return e.Problem
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return e.Problem
	}
	if _, ok := errors.AsType[*resilience.ScreenedError](err); ok {
		return "There is no answer that Reprise can use. " + askAbout
	}
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		if e.Offline {
			return "This server has no connection to the internet at present."
		}
		return "It has had trouble, and is left alone for a moment. Try again in a few minutes."
	}
	return trouble[v.Category]
}

func failingWords(ch Channel, reason string, dropped bool) Words {
	next := "Reprise keeps trying, and " + waiting(ch.Waiting) + "."
	if dropped {
		next = "They are not sent again, and stand on the page of notifications."
	}
	return Words{Title: ch.Name + " cannot be told", Owner: Nobody,
		Message: join("Messages to "+ch.Name+" have failed several times in a row.", reason, next)}
}

func stoppedWords(ch Channel, reason string) Words {
	return Words{Title: ch.Name + " needs you", Owner: Person,
		Message: join("Messages to "+ch.Name+" have stopped.", reason,
			"Nothing is lost: once you have mended it, what waits is sent.")}
}

func waiting(n int) string {
	if n == 1 {
		return "1 message waits"
	}
	return fmt.Sprintf("%d messages wait", n)
}
