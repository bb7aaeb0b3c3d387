package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"time"
)

// Message is something that Alice was told outside the browser.
type Message struct {
	By    string    `json:"by"` // ntfy, mail or webhook
	Title string    `json:"title"`
	Text  string    `json:"text"`
	At    time.Time `json:"at"`
}

// MailboxServer receives Alice's messages: a server that speaks ntfy's way of publishing, one for mail, and a program
// that takes webhooks. They take everything.
type MailboxServer struct {
	NtfyURL    string // as channels are written
	MailURL    string
	WebhookURL string

	mu  sync.Mutex
	all []Message
}

const mostMessages = 100

// Messages returns the last 100 messages, the newest first.
func (m *MailboxServer) Messages() []Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.all)
	slices.Reverse(all)
	return all
}

func (m *MailboxServer) add(v Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all = append(m.all, v); len(m.all) > mostMessages {
		m.all = m.all[len(m.all)-mostMessages:]
	}
}

// startMailbox starts what tells Alice. In a process without sockets there is none.
func (w *World) startMailbox(ctx context.Context) error {
	if w.opts.InProcess {
		return nil
	}
	mux := http.NewServeMux()
	take := func(by string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			var v struct {
				Title   string `json:"title"`
				Message string `json:"message"`
			}
			if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&v); err != nil {
				writeJSON(rw, http.StatusBadRequest, object{"error": "no JSON"})
				return
			}
			w.Mailbox.add(Message{By: by, Title: v.Title, Text: v.Message, At: w.opts.Now()})
			writeJSON(rw, http.StatusOK, object{"id": "taken"})
		}
	}
	mux.HandleFunc("POST /{$}", take("ntfy"))
	mux.HandleFunc("POST /hook", take("webhook"))
	web, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for simulated ntfy: %w", err)
	}
	w.listen(web, mux)
	post, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for simulated mail: %w", err)
	}
	w.addresses = append(w.addresses, web.Addr().String(), post.Addr().String())
	context.AfterFunc(ctx, func() { _ = post.Close() })
	w.running.Go(func() {
		for {
			conn, err := post.Accept()
			if err != nil {
				return
			}
			w.running.Go(func() { w.talk(ctx, conn) })
		}
	})
	w.Mailbox.NtfyURL = "ntfy://" + web.Addr().String() + "/alice?scheme=http"
	w.Mailbox.WebhookURL = "http://" + web.Addr().String() + "/hook"
	const query = "/?from=reprise@demo.invalid&to=alice@demo.invalid&encryption=none"
	w.Mailbox.MailURL = "smtp://" + post.Addr().String() + query
	return nil
}

// talk is the mail server's side of one connection.
func (w *World) talk(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	in := bufio.NewScanner(conn)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") } // who has gone hears nothing
	say("220 demo.invalid")
	for in.Scan() {
		verb, _, _ := strings.Cut(strings.ToUpper(in.Text()), " ")
		switch verb {
		case "EHLO":
			say("250-demo.invalid\r\n250 8BITMIME")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for in.Scan() && in.Text() != "." {
				text.WriteString(in.Text() + "\r\n")
			}
			if letter, err := mail.ReadMessage(strings.NewReader(text.String())); err == nil {
				title, _ := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
				m := Message{By: "mail", Title: title, Text: readLetter(letter), At: w.opts.Now()}
				w.Mailbox.add(m)
			}
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// readLetter returns the text of a mail, as far as it can be read; for a mail with parts, that of the first one.
func readLetter(letter *mail.Message) string {
	body, kind := letter.Body, letter.Header.Get("Content-Type")
	for {
		media, about, err := mime.ParseMediaType(kind)
		if err != nil || !strings.HasPrefix(media, "multipart/") {
			text, _ := io.ReadAll(quotedprintable.NewReader(body))
			return strings.TrimSpace(string(text))
		}
		part, err := multipart.NewReader(body, about["boundary"]).NextRawPart()
		if err != nil {
			return ""
		}
		body, kind = part, part.Header.Get("Content-Type")
	}
}
