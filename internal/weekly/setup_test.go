package weekly_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/alerts"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/postgrestest"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
	"reprise/internal/store"
	"reprise/internal/storetest"
	syncer "reprise/internal/sync"
	"reprise/internal/weekly"
)

// TestEverythingOnPostgres repeats the package's tests on a Postgres server.
func TestEverythingOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("the tests without the race detector run it")
	}
	postgrestest.Again(t, ".")
}

// house is an installation with one person in Vienna, who has a mailbox.
type house struct {
	t       *testing.T
	dir     string
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	db      *store.Store
	courier *notify.Courier
	reports *weekly.Reports
	user    int64
	channel int64
	stop    func()
}

const address = "https://reprise.example.org"

// start starts the server, or starts it again on the same database.
func (h *house) start() {
	t := h.t
	t.Helper()
	h.db = storetest.Open(t, h.dir)
	bus, log := &events.Bus{}, slog.New(slog.DiscardHandler)
	manager := backoff.New(backoff.Options{})
	require.NoError(t, syncer.Restore(context.Background(), manager, nil, h.db))
	registry := providers.NewRegistry()
	notifier := notify.New(h.db, bus, nil)
	client := transport.NewClient(&transport.Transport{})
	guard := syncer.NewGuard(syncer.GuardOptions{Backoff: manager, Registry: registry, Keys: h.db, Client: client,
		Log: log, FirstDelay: time.Second,
		Alerts: alerts.New(alerts.Options{Store: h.db, Notifier: notifier, Bus: bus, Log: log})})
	reader := accounts.ReaderIn(h.db)
	h.reports = weekly.New(weekly.Options{Store: h.db, Reader: reader, Log: log})
	h.courier = notify.NewCourier(notify.CourierOptions{Store: h.db, Guard: guard, Notifier: notifier, Bus: bus,
		Log: log, Sender: channels.New(channels.Config{Client: client, BaseURL: address, Dial: h.dial}),
		BaseURL: address, Name: delivery.ChannelName, Reader: reader, Reporter: h.reports,
		Service: func(name string) string { return name }})
	carried := delivery.New(delivery.Parts{Registry: registry, Store: h.db, Messenger: h.courier, Bus: bus, Log: log,
		Guard: syncer.DeliveryGuard{Guard: guard, Syncer: syncer.NewSyncer(syncer.Options{}, guard, h.db, bus)}},
		delivery.Options{})
	run, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, carried.Run(run)) })
	running.Go(func() { assert.NoError(t, h.reports.Run(run)) })
	h.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		require.NoError(t, h.db.Close())
	})
	t.Cleanup(func() { h.stop() })
}

// movesIn adds the person and their mailbox.
func (h *house) movesIn(url, language string) {
	t := h.t
	t.Helper()
	u, err := h.db.AddUser(t.Context(),
		accounts.User{Name: "Ann", PasswordHash: "-", Role: accounts.Admin, CreatedAt: time.Now()}, false)
	require.NoError(t, err)
	h.user = u.ID
	require.NoError(t, h.db.SetChoices(t.Context(), u.ID, accounts.Choices{Language: language, Zone: "Europe/Vienna"}))
	kind, kept, err := channels.Parse(url, "")
	require.NoError(t, err)
	ch, err := h.courier.Add(t.Context(), notify.Channel{User: u.ID, Kind: kind, Name: "Mail",
		URL: resilience.Secret(kept), Wishes: notify.DefaultWishes()})
	require.NoError(t, err)
	h.channel = ch.ID
}

// wanted switches the report on or off.
func (h *house) wanted(on bool) {
	h.t.Helper()
	require.NoError(h.t, h.reports.Switch(context.Background(), h.user, h.channel, on))
}

// hears stores n plays of a track as a service reports them, one a minute from a time in Vienna on.
func (h *house) hears(service library.ConnectionID, title, artist, from string, n int) {
	h.t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", from, vienna(h.t))
	require.NoError(h.t, err)
	all := make([]library.Listen, n)
	for i := range all {
		all[i] = library.Listen{SourceID: fmt.Sprint(title, from, i), PlayedAt: at.Add(time.Duration(i) * time.Minute),
			Track: library.Track{Title: title, Artist: artist, Album: "Album of " + artist, Duration: 3 * time.Minute}}
	}
	_, err = h.db.SaveListens(context.Background(), library.Intake{User: h.user, Connection: service, Listens: all})
	require.NoError(h.t, err)
}

func vienna(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/Vienna")
	require.NoError(t, err)
	return zone
}

// post is a mail server in a bubble.
type post struct {
	mu    sync.Mutex
	down  bool
	mails []string
	tries int
}

func (p *post) dial(context.Context, string, string) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	if p.down {
		return nil, &net.OpError{Op: "dial", Err: io.ErrClosedPipe}
	}
	ours, theirs := net.Pipe()
	go p.talk(theirs)
	return ours, nil
}

func (p *post) talk(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	say("220 mail.example.org")
	for in.Scan() {
		verb, _, _ := strings.Cut(strings.ToUpper(in.Text()), " ")
		switch verb {
		case "EHLO":
			say("250-mail.example.org\r\n250 8BITMIME")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for in.Scan() && in.Text() != "." {
				text.WriteString(in.Text() + "\r\n")
			}
			p.mu.Lock()
			p.mails = append(p.mails, text.String())
			p.mu.Unlock()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// arrived returns the mails that have arrived since the last call.
func (p *post) arrived(t *testing.T) (all []*mail.Message) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.mails {
		m, err := mail.ReadMessage(strings.NewReader(text))
		require.NoError(t, err)
		all = append(all, m)
	}
	p.mails = nil
	return all
}

func (p *post) goesDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

const mailbox = "smtp://192.168.0.9:25/?from=reprise@example.org&to=ann@example.org&encryption=none"

// inHouse runs a test in a synctest bubble whose time begins on Wednesday, 19 January 2000, at noon in Vienna.
func inHouse(t *testing.T, language string, test func(t *testing.T, h *house, p *post)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at(t, "2000-01-19 12:00")
		p := &post{}
		h := &house{t: t, dir: t.TempDir(), dial: p.dial}
		h.start()
		h.movesIn(mailbox, language)
		require.Len(t, p.arrived(t), 1, "the first message of a channel")
		test(t, h, p)
	})
}

// at lets time pass until a time in Vienna.
func at(t *testing.T, when string) {
	t.Helper()
	then, err := time.ParseInLocation("2006-01-02 15:04", when, vienna(t))
	require.NoError(t, err)
	time.Sleep(time.Until(then))
	synctest.Wait()
}

// away lets time pass until then with the server stopped. That is faster, because each poll of the queue takes real
// time.
func (h *house) away(until string) {
	h.t.Helper()
	h.stop()
	at(h.t, until)
	h.start()
	pass(time.Minute)
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
