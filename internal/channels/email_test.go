package channels

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

// mailServer is a mail server for one test. It answers the commands in refuse as they say.
type mailServer struct {
	net.Listener
	mu     sync.Mutex
	refuse map[string]string
	mails  []string
	signed []string
}

func newMailServer(t *testing.T, refuse map[string]string) *mailServer {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &mailServer{Listener: ln, refuse: refuse}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { m.talk(conn) })
		}
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return m
}

func (m *mailServer) talk(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	say := func(line string) { fmt.Fprint(conn, line+"\r\n") }
	say(cmp.Or(m.refuse["greeting"], "220 mail.example.org ESMTP"))
	for in.Scan() {
		verb, _, _ := strings.Cut(strings.ToUpper(in.Text()), " ")
		if no := m.refuse[verb]; no != "" {
			say(no)
			continue
		}
		switch verb {
		case "EHLO":
			say("250-mail.example.org\r\n250-AUTH PLAIN\r\n250 8BITMIME")
		case "AUTH":
			m.mu.Lock()
			m.signed = append(m.signed, in.Text())
			m.mu.Unlock()
			say("235 welcome")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for in.Scan() && in.Text() != "." {
				text.WriteString(in.Text() + "\n")
			}
			m.mu.Lock()
			m.mails = append(m.mails, text.String())
			m.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// url returns the channel of two people at the server, after "NAME:PASSWORD@" or nothing.
func (m *mailServer) url(user string) resilience.Secret {
	const query = "/?from=reprise@example.org&to=ann@example.org,bob@example.org"
	return resilience.Secret("smtp://" + user + m.Addr().String() + query)
}

func TestAMail(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, nil)
	c := newService(t).channels()
	require.NoError(t, c.Send(t.Context(), resilience.Call{}, email.Name, m.url("ann:secret99@"), sample()))
	require.Len(t, m.mails, 1)
	for _, part := range []string{
		"Subject: Spotify needs to be reconnected",
		"Message-ID: <000102030405060708090a0b0c0d0e0f@reprise.example.org>",
		"Auto-Submitted: auto-generated",
		"ann@example.org",
		"bob@example.org",
		"https://reprise.example.org/connect/spotify",
	} {
		require.Contains(t, m.mails[0], part)
	}
	require.Len(t, m.signed, 1, "in a private network it signs in without TLS too")
}

// The title of a message can hold a name that a stranger chose.
func TestATitleAddsNoHeaderToAMail(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, nil)
	hostile := sample()
	hostile.Title = "Radio\r\nBcc: evil@example.net\r\n\r\n.\r\nMAIL FROM:<evil@example.net>"
	require.NoError(t, newService(t).channels().Send(t.Context(), resilience.Call{}, email.Name, m.url(""), hostile))
	require.Len(t, m.mails, 1)
	read, err := mail.ReadMessage(strings.NewReader(m.mails[0]))
	require.NoError(t, err)
	require.Empty(t, read.Header.Get("Bcc"))
	require.Contains(t, read.Header.Get("Subject"), "Radio")
	require.NotEmpty(t, read.Header.Get("Auto-Submitted"), "the other headers are still there")
}

func TestMeaningOfMailReplies(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refuse   map[string]string
		class    resilience.Class
		category resilience.Category
	}{
		"wrong password":    {map[string]string{"AUTH": "535 5.7.8 no"}, resilience.Fatal, resilience.Auth},
		"must sign in":      {map[string]string{"MAIL": "530 5.7.0 sign in"}, resilience.Fatal, resilience.Auth},
		"greylisted":        {map[string]string{"RCPT": "451 4.7.1 later"}, resilience.Retriable, resilience.Upstream},
		"shutting down":     {map[string]string{"MAIL": "421 4.3.2 bye"}, resilience.Retriable, resilience.Upstream},
		"no such mailbox":   {map[string]string{"RCPT": "550 5.1.1 unknown"}, resilience.Fatal, resilience.Config},
		"sender refused":    {map[string]string{"MAIL": "553 5.1.8 no"}, resilience.Fatal, resilience.Config},
		"server refuses us": {map[string]string{"greeting": "554 5.7.1 not you"}, resilience.Fatal, resilience.Config},
		"content refused":   {map[string]string{"DATA": "554 5.7.1 spam"}, resilience.Fatal, resilience.Item},
		"mailbox too full":  {map[string]string{"DATA": "552 5.2.2 full"}, resilience.Fatal, resilience.Item},
	} {
		m := newMailServer(t, row.refuse)
		err := newService(t).channels().Send(t.Context(), resilience.Call{}, email.Name, m.url("ann:secret99@"),
			sample())
		v := resilience.VerdictOf(err)
		require.Equal(t, row.class, v.Class, "%s: %v", name, err)
		require.Equal(t, row.category, v.Category, name)
		require.NotContains(t, err.Error(), "secret99")
	}
}

func TestAMailIsSentOnceTheServerHasTakenIt(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"RSET", "QUIT"} {
		m := newMailServer(t, map[string]string{verb: "421 4.3.2 bye"})
		require.NoError(t, newService(t).channels().Send(t.Context(), resilience.Call{}, email.Name, m.url(""),
			sample()), verb)
		m.mu.Lock()
		require.Len(t, m.mails, 1)
		m.mu.Unlock()
	}
}

func TestASecondTryWithoutTLSIsNoSecondAttempt(t *testing.T) {
	t.Parallel()
	var told []error
	config := newService(t).config()
	config.Told = func(_ context.Context, _ resilience.Call, _ transport.Attempt, err error) {
		told = append(told,
			err)
	}
	m := newMailServer(t, nil)
	require.NoError(t, New(config).Send(t.Context(), resilience.Call{}, email.Name, m.url(""), sample()))
	require.Equal(t, []error{nil}, told)
}

func TestAnUnreachableMailServer(t *testing.T) {
	t.Parallel()
	config := newService(t).config()
	address := resilience.Secret("smtp://" + childtest.Address(t) + "/?from=a@x.org&to=b@x.org")
	err := New(config).Send(t.Context(), resilience.Call{}, email.Name, address, sample())
	require.Equal(t, resilience.Network, resilience.VerdictOf(err).Category)
	config.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &resilience.SettingError{Setting: "allow_private_upstreams",
			Problem: words.Plain("No private networks.")}
	}
	err = New(config).Send(t.Context(), resilience.Call{}, email.Name, address, sample())
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
}

func TestNoUnprotectedMailOverTheInternet(t *testing.T) {
	t.Parallel()
	m := newMailServer(t, nil)
	config := newService(t).config()
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, m.Addr().String())
	}
	c, away := New(config), "smtp://ann:secret99@mail.example.org:587/?from=a@x.org&to=b@x.org"
	err := c.Send(t.Context(), resilience.Call{}, email.Name, resilience.Secret(away), sample())
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
	require.Empty(t, m.signed)
	require.NoError(t, c.Send(t.Context(), resilience.Call{}, email.Name, resilience.Secret(away+"&encryption=none"),
		sample()))
}
