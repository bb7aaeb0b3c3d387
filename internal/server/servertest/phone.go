package servertest

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"reprise/internal/accounts"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	syncer "reprise/internal/sync"
)

// Phone is a simulated ntfy.
type Phone struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	titles []string
}

// NewPhone returns a Phone that takes every message.
func NewPhone(t *testing.T) *Phone {
	t.Helper()
	p := &Phone{status: http.StatusOK}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v struct {
			Title string `json:"title"`
		}
		_ = json.NewDecoder(r.Body).Decode(&v)
		p.mu.Lock()
		defer p.mu.Unlock()
		if w.WriteHeader(p.status); p.status == http.StatusOK {
			p.titles = append(p.titles, v.Title)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(p.Close)
	return p
}

// Answers sets the status of the following answers.
func (p *Phone) Answers(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// Titles returns the titles of the messages so far.
func (p *Phone) Titles() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.titles)
}

// Address returns the address of one of its topics, as a person types it.
func (p *Phone) Address(topic string) string {
	return "ntfy://:tk_secret99@" + strings.TrimPrefix(p.URL, "http://") + "/" + topic + "?scheme=http"
}

// Tells gives a household a courier.
func (h *Household) Tells() {
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: backoff.New(backoff.Options{}),
		Log: slog.New(slog.DiscardHandler)})
	client := transport.NewClient(&transport.Transport{Base: hosts.NewBase(nil)})
	h.Config.Courier = notify.NewCourier(notify.CourierOptions{Store: h.DB,
		Sender: channels.New(channels.Config{Client: client}), Guard: guard, Notifier: h.Notifier, Bus: h.Bus,
		Log: slog.New(slog.DiscardHandler), BaseURL: "http://127.0.0.1:8420", Name: delivery.ChannelName,
		Reporter: h.Config.Reports, Reader: accounts.ReaderIn(h.DB),
		Service: func(s string) string { return s }})
	h.Restart()
}
