package channels

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// sendSMTP sends a mail over a connection of its own.
func (c *Channels) sendSMTP(ctx context.Context, box mailbox, unprotected bool, msg *gomail.Msg) error {
	var line net.Conn
	client, err := c.smtpClient(box, unprotected, func(conn net.Conn) {
		line = conn
		// The library waits as long as it was told once, whatever becomes of the context.
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	})
	if err != nil {
		return wrong(words.New("reach.email.unfit"))
	}
	defer func() { // the library leaves the connection open when the server does not let us in
		if line != nil {
			_ = line.Close() // closed already in most cases
		}
	}()
	err = client.DialAndSendWithContext(ctx, msg)
	if msg.IsDelivered() { // an error after that, such as one of QUIT, changes nothing
		return nil
	}
	return err
}

// smtpClient returns a client for one mail, which calls connected with its connection.
func (c *Channels) smtpClient(b mailbox, unprotected bool, connected func(net.Conn)) (*gomail.Client, error) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		connected(conn)
		if !b.tls {
			return conn, err
		}
		protected := tls.Client(conn, &tls.Config{ServerName: b.host, MinVersion: tls.VersionTLS12})
		if err := protected.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return protected, nil
	}
	opts := []gomail.Option{
		gomail.WithPort(b.port),
		gomail.WithTimeout(resilience.CallTimeout),
		gomail.WithoutNoop(),
		gomail.WithDialContextFunc(dial),
	}
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

// offersNoTLS reports whether a server does not offer STARTTLS. The library has no type for this error.
func offersNoTLS(err error) bool {
	return err != nil && strings.Contains(err.Error(), "STARTTLS")
}

// offersNoSignIn reports whether a server offers no way to sign in that we know.
func offersNoSignIn(err error) bool {
	return errors.Is(err, gomail.ErrNoSupportedAuthDiscovered) || strings.Contains(err.Error(), "SMTP AUTH")
}

// mailError returns an error of the mail library as one of the resilience package.
func mailError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok { // Dial refused the address
		return e
	}
	reply, _ := errors.AsType[*textproto.Error](err)
	failed, _ := errors.AsType[*gomail.SendError](err)
	answer := &resilience.AnswerError{Endpoint: emailEndpoint}
	switch {
	case reply != nil && reply.Code != 0:
		answer.Status, answer.Message = reply.Code, resilience.Excerpt(reply.Msg)
	case failed != nil:
		answer.Status = failed.ErrorCode()
	}
	var meaning resilience.Meaning
	switch {
	case answer.Status != 0:
		answer.Code = strconv.Itoa(answer.Status)
		meaning = mailMeaning(answer.Status, failed)
	case offersNoTLS(err):
		answer.Message = "no STARTTLS"
		meaning = stops(resilience.Config, words.New("reach.email.no_tls"))
	case offersNoSignIn(err):
		answer.Message = "no way to sign in"
		meaning = stops(resilience.Config, words.New("reach.email.no_sign_in"))
	default:
		return &resilience.NetworkError{
			Endpoint: emailEndpoint, Err: errors.New("no whole answer from the mail server"),
		}
	}
	answer.Meaning = &meaning
	return answer
}

// The steps of sending a mail whose refusals have a meaning of their own. Any step is the empty list.
var (
	anyStep       []gomail.SendErrReason
	recipientStep = []gomail.SendErrReason{gomail.ErrSMTPRcptTo}
	contentStep   = []gomail.SendErrReason{gomail.ErrSMTPData, gomail.ErrSMTPDataClose, gomail.ErrWriteContent}
)

var mailPassword = words.New("reach.email.password")

// mailReplies says what the reply codes of mail servers mean (RFC 5321, section 4.2, and RFC 4954, section 6). The
// first row that matches counts.
var mailReplies = []struct {
	first, last int // reply codes
	step        []gomail.SendErrReason
	meaning     resilience.Meaning
}{
	{400, 499, anyStep, resilience.Meaning{
		Class: resilience.Retriable, Category: resilience.Upstream, Scope: resilience.ScopeConnection,
		Advice: words.New("message.mail_later"),
	}},
	{530, 530, anyStep, stops(resilience.Auth, words.New("reach.email.sign_in"))},
	{534, 535, anyStep, stops(resilience.Auth, mailPassword)},
	{538, 538, anyStep, stops(resilience.Auth, mailPassword)},
	{552, 552, contentStep, drops(words.New("reach.email.rejected"))},
	{554, 554, contentStep, drops(words.New("reach.email.rejected"))},
	{0, 999, recipientStep, stops(resilience.Config, words.New("reach.email.recipient"))},
}

// mailMeaning looks a reply code up in mailReplies. failed says at which step the mail was refused; nil before the
// first.
func mailMeaning(code int, failed *gomail.SendError) resilience.Meaning {
	for _, r := range mailReplies {
		here := len(r.step) == 0 || failed != nil && slices.Contains(r.step, failed.Reason)
		if here && r.first <= code && code <= r.last {
			return r.meaning
		}
	}
	return stops(resilience.Config, words.New("reach.email.code", "Code", strconv.Itoa(code)))
}
