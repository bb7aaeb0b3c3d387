package mqtt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/childtest"
	"reprise/internal/config"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/mqtt"
	"reprise/internal/notify"
	"reprise/internal/players"
	"reprise/internal/playrules"
	"reprise/internal/resilience"
)

// household is what is published from.
type household struct {
	mu    sync.Mutex
	users []accounts.User
	today int
	open  []notify.Notification
}

func (h *household) Users(context.Context) ([]accounts.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]accounts.User{}, h.users...), nil
}

func (h *household) CountSent(_ context.Context, _ int64, since time.Time) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if zone, _ := time.LoadLocation("Asia/Tokyo"); since.In(zone).Hour() != 0 {
		return 0, fmt.Errorf("the day begins at %s", since)
	}
	return h.today, nil
}

func (h *household) Notifications(context.Context, int64, bool) ([]notify.Notification, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open, nil
}

func (h *household) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

func (*household) RulesFor(int64) (*playrules.Set, error) { return nil, nil }

func (h *household) Playing(int64, library.ConnectionID, library.Track, []library.ConnectionID) {}

// broker is a real mosquitto, which only lets "reprise" in.
type broker struct {
	t    *testing.T
	conf string
	at   string
	cmd  *exec.Cmd
}

const program = "/usr/sbin/mosquitto"

func newBroker(t *testing.T) *broker {
	t.Helper()
	_, err := exec.LookPath(program)
	require.NoError(t, err, "This test needs the Debian package mosquitto (apt-get install it).")
	b := &broker{t: t, at: childtest.Address(t), conf: filepath.Join(t.TempDir(), "mosquitto.conf")}
	passwords := filepath.Join(t.TempDir(), "passwords")
	out, err := exec.Command("mosquitto_passwd", "-c", "-b", passwords, "reprise", "a p@ssword").CombinedOutput()
	require.NoError(t, err, string(out))
	_, port, _ := net.SplitHostPort(b.at)
	require.NoError(t, os.WriteFile(b.conf, []byte("listener "+port+" 127.0.0.1\npassword_file "+passwords+
		"\nallow_anonymous false\nuser root\n"), 0o600))
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	b.cmd = childtest.Tie(exec.Command(program, "-c", b.conf), syscall.SIGKILL)
	require.NoError(b.t, b.cmd.Start())
	until(b.t, "the broker", func() bool {
		conn, err := net.Dial("tcp", b.at)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func (b *broker) stop() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

func until(t *testing.T, what string, check func() bool) {
	t.Helper()
	require.Eventually(t, check, time.Minute, 20*time.Millisecond, what)
}

// publish has somebody else say something.
func (b *broker) publish(topic, text string) {
	o := paho.NewClientOptions().AddBroker("tcp://" + b.at).SetUsername("reprise").SetPassword("a p@ssword")
	c := paho.NewClient(o)
	c.Connect().Wait()
	c.Publish(topic, 1, true, text).Wait()
	c.Disconnect(0)
}

// topics are what the broker holds, as somebody reads it who has just come.
func (b *broker) topics() map[string]string {
	var mu sync.Mutex
	all := map[string]string{}
	o := paho.NewClientOptions().AddBroker("tcp://" + b.at).SetUsername("reprise").SetPassword("a p@ssword")
	c := paho.NewClient(o)
	if t := c.Connect(); !t.WaitTimeout(time.Second) || t.Error() != nil {
		return nil
	}
	defer c.Disconnect(0)
	done := make(chan struct{})
	c.Subscribe("#", 1, func(_ paho.Client, m paho.Message) {
		mu.Lock()
		defer mu.Unlock()
		if m.Topic() == "end" {
			close(done)
		} else if m.Retained() {
			all[m.Topic()] = string(m.Payload())
		}
	}).Wait()
	c.Publish("end", 1, false, "x").Wait() // after what is retained
	<-done
	return all
}

// writer is a log that several goroutines write.
type writer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (w *writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

func (w *writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// It uses a real broker.
//
// Promise: A broker at home knows what those are playing who share their listening, how much they have heard today and
// whether something needs them, also after it was away; Home Assistant shows it by itself.
func TestABrokerKnowsWhatIsPlaying(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	h := &household{today: 3, users: []accounts.User{
		{ID: 1, Name: "Alice", SharesListening: true, Choices: accounts.Choices{Zone: "Asia/Tokyo"}},
		{ID: 2, Name: "Ben"}}}
	bus, log := &events.Bus{}, &writer{}
	now := players.NewNow(h, bus)
	settings := config.MQTT{Broker: resilience.Secret("mqtt://reprise:wrong@" + b.at), Topic: "reprise",
		Discovery: "homeassistant"}
	p := mqtt.New(mqtt.Options{Store: h, Playing: now, Bus: bus, Version: "1.0",
		Log: slog.New(slog.NewTextHandler(log, nil))}, settings)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	until(t, "the wrong password to be logged", func() bool {
		return bytes.Contains([]byte(log.String()), []byte("the MQTT broker can't be reached"))
	})
	require.Empty(t, b.topics())

	settings.Broker = resilience.Secret("mqtt://reprise:a%20p%40ssword@" + b.at)
	p.Configure(settings)
	until(t, "the state", func() bool { return b.topics()["reprise/1/today"] == "3" })
	all := b.topics()
	require.Equal(t, "online", all["reprise/status"])
	require.JSONEq(t, `{"state":"idle","track":"","artist":"","album":"","with":""}`, all["reprise/1/playing"])
	require.Equal(t, "OFF", all["reprise/1/needs"])
	require.Len(t, all, 7, "nothing of Ben: %v", all)
	var about struct {
		State        string `json:"state_topic"`
		Attributes   string `json:"json_attributes_topic"`
		Availability string `json:"availability_topic"`
		Device       struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(all["homeassistant/sensor/reprise_1_playing/config"]), &about))
	require.Equal(t, "reprise/1/playing", about.State)
	require.Equal(t, about.State, about.Attributes)
	require.Equal(t, "reprise/status", about.Availability)
	require.Equal(t, "Reprise Alice", about.Device.Name)

	now.Begins(1, "player-1", library.Playing{With: "Kitchen", Track: library.Track{Title: "Jóga", Artist: "Björk"}})
	until(t, "what is playing", func() bool {
		var v struct{ State, With string }
		_ = json.Unmarshal([]byte(b.topics()["reprise/1/playing"]), &v)
		return v.State == "Björk – Jóga" && v.With == "Kitchen"
	})
	now.Begins(1, "player-2", library.Playing{With: "Phone", Track: library.Track{Title: "Hunter", Artist: "Björk"}})
	until(t, "the latest of two", func() bool {
		return strings.Contains(b.topics()["reprise/1/playing"], "Björk – Hunter")
	})
	// A connection that was lost is taken for one that is there, and the broker says late that it is gone.
	b.publish("reprise/status", "offline")
	until(t, "that it is there", func() bool { return b.topics()["reprise/status"] == "online" })
	h.change(func() { h.today, h.open = 4, []notify.Notification{{Severity: notify.Error}} })
	bus.Publish(1, events.Event{Type: events.Notification})
	until(t, "what needs her", func() bool { return b.topics()["reprise/1/needs"] == "ON" })

	b.stop()
	b.start() // it has forgotten everything
	until(t, "all of it again", func() bool { return b.topics()["reprise/1/today"] == "4" })

	// Another topic: the broker forgets what it knew under the one before.
	settings.Topic = "home/music"
	p.Configure(settings)
	until(t, "the other topic", func() bool {
		all := b.topics()
		return all["home/music/1/today"] == "4" && all["reprise/1/playing"] == ""
	})
	require.Contains(t, b.topics(), "homeassistant/sensor/home_music_1_playing/config")
	require.NotContains(t, b.topics(), "homeassistant/sensor/reprise_1_playing/config")
	settings.Topic = "reprise"
	p.Configure(settings)
	until(t, "the topic again", func() bool { return b.topics()["reprise/1/today"] == "4" })

	// Alice stops sharing while Reprise is away.
	stop()
	running.Wait()
	require.Equal(t, "offline", b.topics()["reprise/status"])
	h.change(func() { h.users[0].SharesListening, h.users[1].SharesListening = false, true })
	h.change(func() { h.users[1].Zone = "Asia/Tokyo" })
	ctx, stop = context.WithCancel(t.Context())
	running.Go(func() { _ = p.Run(ctx) })
	until(t, "nothing of her", func() bool {
		all := b.topics()
		delete(all, "home/music/status")
		return all["reprise/2/today"] == "4" && len(all) == 7
	})
	stop()
	running.Wait()
	require.NotContains(t, log.String(), "ssword")
}

// Without a broker nothing is done.
func TestNothingIsPublishedWithoutABroker(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	p := mqtt.New(mqtt.Options{}, config.MQTT{})
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	p.Configure(config.MQTT{Topic: "music"})
	stop()
	running.Wait()
	require.Equal(t, "music", p.Settings().Topic)
}
