package channels

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"reprise/internal/notify"
	"reprise/internal/resilience"
)

func parseEmail(u *url.URL) (*url.URL, error) {
	q := u.Query()
	from, to := cmp.Or(q.Get("from"), q.Get("fromaddress"), q.Get("fromAddress")), cmp.Or(q.Get("to"), q.Get("toaddresses"), q.Get("toAddresses"))
	if _, err := mail.ParseAddress(from); err != nil {
		return nil, wrong("From is not an e-mail address. In a URL it stands behind from=.")
	}
	if _, err := mail.ParseAddressList(to); err != nil {
		return nil, wrong("To is not an e-mail address. In a URL it stands behind to=; several have commas between.")
	}
	if !strings.HasPrefix(u.Scheme, "smtp") {
		return nil, wrong("The address of a mail server begins with smtp:// or smtps://.")
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
		return "", wrong("The mail server is a name and a port, such as mail.example.org:587.")
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

// mailbox is where and as whom mails are sent.
type mailbox struct {
	host, from, to, name, password string
	port                           int
	tls, plain, private            bool
}

func readMailbox(text string) (b mailbox, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return b, wrong("The address of this channel cannot be read.")
	}
	q := u.Query()
	b = mailbox{host: u.Hostname(), from: q.Get("from"), to: q.Get("to"), tls: u.Scheme == "smtps" || u.Port() == "465", plain: q.Get("encryption") == "none"}
	b.private = private(b.host)
	b.port = 587
	if b.tls {
		b.port = 465
	}
	if u.Port() != "" {
		if b.port, err = strconv.Atoi(u.Port()); err != nil {
			return b, wrong("The port of the mail server is not a number.")
		}
	}
	if u.User != nil {
		b.name = u.User.Username()
		b.password, _ = u.User.Password()
	}
	return b, nil
}

// email sends one mail. Its connection is protected, except to a server at home that does not offer it, or where the
// person has said so.
func (s *Channels) email(ctx context.Context, text string, m notify.Message) error {
	box, err := readMailbox(text)
	if err != nil {
		return err
	}
	msg, err := s.letter(box, m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resilience.CallTimeout, errTime)
	defer cancel()
	start := time.Now()
	for _, unprotected := range box.ways() {
		if err = s.mail(ctx, box, unprotected, msg); !errors.Is(err, gomail.ErrNoSupportedAuthDiscovered) && !offersNoTLS(err) {
			break
		}
	}
	err = mailError(ctx, err)
	if s.Told != nil {
		s.Told(ctx, box.host, mailEndpoint, start, err)
	}
	return err
}

// mail sends a mail over a connection of its own.
func (s *Channels) mail(ctx context.Context, box mailbox, unprotected bool, msg *gomail.Msg) error {
	var line net.Conn
	client, err := s.mailClient(box, unprotected, &line)
	if err != nil {
		return wrong("The address of the mail server cannot be used. Check it.")
	}
	defer func() { // the library leaves it open when the server does not let us in
		if line != nil {
			_ = line.Close() // mostly closed already
		}
	}()
	if err = client.DialAndSendWithContext(ctx, msg); msg.IsDelivered() { // how the server takes leave after that changes nothing
		return nil
	}
	return err
}

var errTime = errors.New("the mail server took too long")

// ways are whether the connection is unprotected, in the order in which they are tried.
func (b mailbox) ways() []bool {
	switch {
	case b.plain:
		return []bool{true}
	case b.tls, !b.private:
		return []bool{false}
	}
	return []bool{false, true}
}

func offersNoTLS(err error) bool {
	return err != nil && strings.Contains(err.Error(), "STARTTLS")
}

func (s *Channels) letter(b mailbox, m notify.Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg()
	if err := errors.Join(msg.From(b.from), msg.ToFromString(b.to)); err != nil {
		return nil, wrong("From or To is not an e-mail address.")
	}
	host := "reprise.invalid"
	if u, err := url.Parse(s.BaseURL); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	msg.Subject(m.Title)
	msg.SetMessageIDWithValue(m.ID + "@" + host)
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Severity == notify.Error {
		msg.SetImportance(gomail.ImportanceHigh)
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text+"\n\n"+m.URL+"\n")
	return msg, nil
}

func (s *Channels) mailClient(b mailbox, unprotected bool, line *net.Conn) (*gomail.Client, error) {
	opts := []gomail.Option{gomail.WithPort(b.port), gomail.WithTimeout(resilience.CallTimeout), gomail.WithoutNoop(),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := s.Dial(ctx, network, address)
			*line = conn
			if err != nil || !b.tls {
				return conn, err
			}
			protected := tls.Client(conn, &tls.Config{ServerName: b.host, MinVersion: tls.VersionTLS12})
			if err := protected.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return protected, nil
		})}
	switch {
	case b.tls:
		opts = append(opts, gomail.WithSSL())
	case unprotected:
		opts = append(opts, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		opts = append(opts, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if b.name != "" {
		how := gomail.SMTPAuthAutoDiscover
		if unprotected {
			how = gomail.SMTPAuthPlainNoEnc
		}
		opts = append(opts, gomail.WithSMTPAuth(how), gomail.WithUsername(b.name), gomail.WithPassword(b.password))
	}
	return gomail.NewClient(b.host, opts...)
}

// mailError types what a mail server said. Its codes are those of RFC 5321, section 4.2, and RFC 4954, section 6.
func mailError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok { // what connects may not do so
		return e
	}
	code, words := 0, ""
	if e, ok := errors.AsType[*textproto.Error](err); ok {
		code, words = e.Code, e.Msg
	}
	sending, isSending := errors.AsType[*gomail.SendError](err)
	if isSending && code == 0 {
		code = sending.ErrorCode()
	}
	if code == 0 {
		if offersNoTLS(err) {
			return &resilience.AnswerError{Endpoint: mailEndpoint, Message: "no STARTTLS", Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
				Scope: resilience.ScopeConnection, Advice: "The mail server offers no protected connection on this port. Try port 465, or ask who runs it."}}
		}
		if errors.Is(err, gomail.ErrNoSupportedAuthDiscovered) || strings.Contains(err.Error(), "SMTP AUTH") {
			return &resilience.AnswerError{Endpoint: mailEndpoint, Message: "no way to sign in", Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
				Scope: resilience.ScopeConnection, Advice: "The mail server offers no way to sign in on this port. Try port 587 or 465, or leave the name empty."}}
		}
		return &resilience.NetworkError{Endpoint: mailEndpoint, Err: errors.New("no whole answer from the mail server")}
	}
	return &resilience.AnswerError{Endpoint: mailEndpoint, Status: code, Code: strconv.Itoa(code), Message: resilience.Excerpt(words), Meaning: mailMeaning(code, sending)}
}

// mailMeaning is the table of mail servers. sending says where in a mail it stopped; nil before that.
func mailMeaning(code int, sending *gomail.SendError) *resilience.Meaning {
	recipient := sending != nil && sending.Reason == gomail.ErrSMTPRcptTo
	content := sending != nil && slices.Contains([]gomail.SendErrReason{gomail.ErrSMTPData, gomail.ErrSMTPDataClose, gomail.ErrWriteContent}, sending.Reason)
	m := resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeConnection}
	switch {
	case code >= 400 && code < 500:
		m.Class, m.Category, m.Advice = resilience.Retriable, resilience.Upstream, "The mail server does not take mails at the moment."
	case code == 534, code == 535, code == 538:
		m.Category, m.Advice = resilience.Auth, "The mail server does not accept the name and the password. Some services want a password made for this program."
	case code == 530:
		m.Category, m.Advice = resilience.Auth, "The mail server wants a name and a password."
	case content && (code == 552 || code == 554):
		m.Category, m.Scope, m.Advice = resilience.Item, resilience.ScopeItem, "The mail server did not take a mail."
	case recipient:
		m.Advice = "The mail server does not take mails for this recipient. Check To."
	default:
		m.Advice = fmt.Sprintf("The mail server does not let us send like this (its code is %d). Check From, To and the port.", code)
	}
	return &m
}
