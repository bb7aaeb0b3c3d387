package channels

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

const emailEndpoint = "SMTP"

// Email is the name of the kind that sends mail, the only one that can carry a weekly report.
const Email = "email"

var email = Kind{
	Name:     Email,
	Label:    "E-mail",
	Help:     words.New("channel.email.help"),
	Sent:     words.New("channel.email.sent"),
	Endpoint: emailEndpoint,
	Fields: []providers.Field{
		{Name: "to", Label: words.New("channel.email.to"), Kind: "text"},
		{Name: "from", Label: words.New("channel.email.from"), Kind: "text"},
		{Name: "server", Label: words.New("channel.email.server"), Kind: "text",
			Help: words.New("channel.email.server_help")},
		{Name: "username", Label: words.New("channel.email.username"), Kind: "text", Optional: true},
		{Name: "password", Label: words.New("channel.email.password"), Kind: "password", Optional: true},
	},
	schemes: []string{"smtp", "smtps"},
	parse:   parseEmail,
	build:   buildEmail,
	shown: func(u *url.URL) words.Text {
		return words.New("channel.email.shown", "To", u.Query().Get("to"), "Server", u.Hostname())
	},
	send: sendEmail,
}

func parseEmail(u *url.URL) (*url.URL, error) {
	q := u.Query()
	from := cmp.Or(q.Get("from"), q.Get("fromaddress"), q.Get("fromAddress"))
	to := cmp.Or(q.Get("to"), q.Get("toaddresses"), q.Get("toAddresses"))
	if _, err := mail.ParseAddress(from); err != nil {
		return nil, wrong(words.New("reach.email.from"))
	}
	if _, err := mail.ParseAddressList(to); err != nil {
		return nil, wrong(words.New("reach.email.to"))
	}
	if !strings.HasPrefix(u.Scheme, "smtp") {
		return nil, wrong(words.New("reach.email.scheme"))
	}
	keep := url.Values{"from": {from}, "to": {to}}
	if strings.EqualFold(q.Get("encryption"), "none") {
		keep.Set("encryption", "none")
	}
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: "/", RawQuery: keep.Encode()}, nil
}

func buildEmail(f map[string]string) (string, error) {
	u, err := url.Parse("//" + f["server"])
	if err != nil || u.Hostname() == "" || u.Path != "" {
		return "", wrong(words.New("reach.email.server"))
	}
	u.Scheme, u.Path, u.RawQuery = "smtp", "/", url.Values{"from": {f["from"]}, "to": {f["to"]}}.Encode()
	if u.Port() == "465" {
		u.Scheme = "smtps"
	}
	if f["username"] != "" {
		u.User = url.UserPassword(f["username"], f["password"])
	}
	return u.String(), nil
}

// mailbox is a kept URL, read: the mail server, how to sign in there, and the sender and recipients of the mail.
type mailbox struct {
	host, from, to, name, password string
	port                           int

	tls   bool // TLS from the first byte, not by STARTTLS
	plain bool // the person wants no protection
}

func readMailbox(u *url.URL) (b mailbox, err error) {
	q := u.Query()
	b = mailbox{
		host:  u.Hostname(),
		from:  q.Get("from"),
		to:    q.Get("to"),
		port:  587,
		tls:   u.Scheme == "smtps" || u.Port() == "465",
		plain: q.Get("encryption") == "none",
	}
	if b.tls {
		b.port = 465
	}
	if u.Port() != "" {
		if b.port, err = strconv.Atoi(u.Port()); err != nil {
			return b, wrong(words.New("reach.email.port"))
		}
	}
	if u.User != nil {
		b.name = u.User.Username()
		b.password, _ = u.User.Password()
	}
	return b, nil
}

// unprotected returns whether to use an unprotected connection, for one attempt after the other.
func (b mailbox) unprotected() []bool {
	switch {
	case b.plain:
		return []bool{true}
	case b.tls, !private(b.host):
		return []bool{false}
	}
	return []bool{false, true}
}

var errMailTimeout = errors.New("the mail server took too long")

// sendEmail sends one mail. The connection is protected, unless the URL says otherwise or a server in a private network
// offers no protection.
func sendEmail(ctx context.Context, c *Channels, call resilience.Call, to *url.URL, m notify.Message) error {
	box, err := readMailbox(to)
	if err != nil {
		return err
	}
	msg, err := c.letter(box, m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resilience.CallTimeout, errMailTimeout)
	defer cancel()
	start := time.Now()
	for _, unprotected := range box.unprotected() {
		err = c.sendSMTP(ctx, box, unprotected, msg)
		if !errors.Is(err, gomail.ErrNoSupportedAuthDiscovered) && !offersNoTLS(err) {
			break
		}
	}
	err = mailError(ctx, err)
	if c.Told != nil {
		c.Told(ctx, call, transport.Attempt{Host: box.host, Endpoint: emailEndpoint, Start: start}, err)
	}
	return err
}

// letter writes a message as a mail.
func (c *Channels) letter(b mailbox, m notify.Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg()
	if err := errors.Join(msg.From(b.from), msg.ToFromString(b.to)); err != nil {
		return nil, wrong(words.New("reach.email.addresses"))
	}
	host := "reprise.invalid"
	if u, err := url.Parse(c.self.Load().baseURL); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	msg.Subject(m.Title)
	msg.SetMessageIDWithValue(m.ID + "@" + host)
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Severity == notify.Error {
		msg.SetImportance(gomail.ImportanceHigh)
	}
	text := m.Text
	if m.URL != "" {
		text += "\n\n" + m.URL
	}
	msg.SetBodyString(gomail.TypeTextPlain, text+"\n")
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	for _, p := range m.Pictures {
		err := msg.EmbedReader(p.Name, bytes.NewReader(p.Data), gomail.WithFileContentID("<"+p.ID()+">"),
			gomail.WithFileContentType(gomail.ContentType(p.Type)))
		if err != nil {
			return nil, fmt.Errorf("embed picture: %w", err)
		}
	}
	if m.StopURL != "" {
		// List-Unsubscribe-Post is left out: with it, anybody who has the mail could unsubscribe.
		msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+m.StopURL+">")
	}
	return msg, nil
}
