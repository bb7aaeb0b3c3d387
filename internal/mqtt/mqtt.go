// Package mqtt tells a broker at home what people are playing, how much they have heard today, and whether something
// needs them, so that Home Assistant shows it by itself. It is about people whose household may see their listening.
//
// What is published is retained: it is the state, not news. Whoever was away reads it when they are back.
package mqtt

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/players"
	"reprise/internal/words"
)

// Store is what is published from.
type Store interface {
	Users(context.Context) ([]accounts.User, error)
	CountFound(context.Context, library.ListenFilter) (int, error)
	Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error)
}

// Options are what a Publisher is made of.
type Options struct {
	Store   Store
	Playing *players.Now
	Bus     *events.Bus
	Version string
	Log     *slog.Logger
}

// Publisher publishes what people do. Make it with New, and run it with Run. It is safe for concurrent use.
type Publisher struct {
	Options
	changed chan struct{} // the settings

	mu  sync.Mutex
	now config.MQTT
}

const (
	// gatherFor is how long a change waits for others that are published with it.
	gatherFor = 300 * time.Millisecond
	// lookEvery is how often everything is looked at: a day ends, and people begin to share.
	lookEvery = time.Minute
	// answerWithin is how long the broker may take.
	answerWithin = 10 * time.Second
	// leaveWithin is how long saying goodbye may take.
	leaveWithin = 2 * time.Second
	// mostRetry is the longest wait between two tries to reach the broker.
	mostRetry = time.Minute
)

// New returns a Publisher.
func New(o Options, s config.MQTT) *Publisher {
	return &Publisher{Options: o, now: s, changed: make(chan struct{}, 1)}
}

// Configure changes the settings.
func (p *Publisher) Configure(s config.MQTT) {
	p.mu.Lock()
	before := p.now
	p.now = s
	p.mu.Unlock()
	if before != s {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// errChanged ends a session whose settings have changed.
var errChanged = errors.New("the settings have changed")

// Settings returns the settings as they are now.
func (p *Publisher) Settings() config.MQTT {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Run publishes until ctx ends. Call it once at a time.
func (p *Publisher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s := p.Settings()
		session, stop := context.WithCancelCause(ctx)
		var running sync.WaitGroup
		if s.Broker != "" {
			running.Go(func() { newSession(p, s).run(session) })
		}
		select {
		case <-ctx.Done():
		case <-p.changed:
		}
		stop(errChanged)
		running.Wait()
	}
	return nil
}

// session is the time with one broker.
type session struct {
	*Publisher
	config.MQTT
	client paho.Client
	again  chan struct{}    // everything has to be published: the broker has just been reached, or took us for gone
	dirty  chan int64       // people about whom something has changed
	former chan string      // people about whom the broker knows something, by the names of their topics
	watch  map[int64]func() // ends hearing of a person
	said   map[string]string
}

func newSession(p *Publisher, s config.MQTT) *session {
	n := &session{Publisher: p, MQTT: s, again: make(chan struct{}, 1), dirty: make(chan int64, 256),
		former: make(chan string, 256), watch: map[int64]func(){}, said: map[string]string{}}
	o := paho.NewClientOptions().SetClientID(plain(s.Topic)).SetOrderMatters(false).
		SetAutoReconnect(true).SetMaxReconnectInterval(mostRetry).
		SetConnectRetry(true).SetConnectRetryInterval(answerWithin).
		SetConnectTimeout(answerWithin).SetWriteTimeout(answerWithin).
		SetWill(s.Topic+"/status", "offline", 1, true)
	if u, err := url.Parse(string(s.Broker)); err == nil {
		name := u.User.Username()
		password, _ := u.User.Password()
		u.User = nil
		u.Scheme = map[string]string{"mqtt": "tcp", "mqtts": "ssl"}[u.Scheme]
		if u.Port() == "" {
			u.Host += map[string]string{"tcp": ":1883", "ssl": ":8883"}[u.Scheme]
		}
		o.AddBroker(u.String()).SetUsername(name).SetPassword(password)
	}
	var told sync.Once
	o.SetOnConnectHandler(func(c paho.Client) {
		n.Log.Info("the MQTT broker is reached")
		c.Subscribe(s.Topic+"/status", 1, func(_ paho.Client, m paho.Message) {
			if string(m.Payload()) == "offline" { // the will of a connection that was lost, also of one before this
				n.all()
			}
		})
		c.Subscribe(s.Topic+"/+/today", 1, func(_ paho.Client, m paho.Message) {
			if len(m.Payload()) > 0 && m.Retained() {
				n.knows(strings.TrimSuffix(strings.TrimPrefix(m.Topic(), s.Topic+"/"), "/today"))
			}
		})
		n.all()
	})
	o.SetConnectionLostHandler(func(_ paho.Client, err error) {
		n.Log.Warn("the MQTT broker can't be reached; it is tried again", "err", err)
	})
	o.SetConnectionNotificationHandler(func(_ paho.Client, c paho.ConnectionNotification) {
		if failed, ok := c.(paho.ConnectionNotificationFailed); ok {
			told.Do(func() { n.Log.Warn("the MQTT broker can't be reached; it is tried again", "err", failed.Reason) })
		}
	})
	n.client = paho.NewClient(o)
	return n
}

// all has everything published again.
func (n *session) all() {
	select {
	case n.again <- struct{}{}:
	default:
	}
}

// knows notes that the broker knows something about a person.
func (n *session) knows(person string) {
	select {
	case n.former <- person:
	default: // the next start clears it
	}
}

// run publishes until ctx ends.
func (n *session) run(ctx context.Context) {
	n.client.Connect()
	defer func() { n.leave(context.WithoutCancel(ctx), context.Cause(ctx)) }()
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	former := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-n.again:
			clear(n.said) // a broker may have forgotten all
		case <-n.dirty:
			select {
			case <-ctx.Done():
				return
			case <-time.After(gatherFor):
			}
			for len(n.dirty) > 0 {
				<-n.dirty
			}
		case person := <-n.former:
			former[person] = true
			if len(n.former) > 0 {
				continue
			}
		}
		if !n.client.IsConnectionOpen() {
			continue
		}
		err := n.publish(ctx, former)
		if _, silent := errors.AsType[*silentError](err); err != nil && !silent && ctx.Err() == nil {
			n.Log.Error("what people hear can't be read for the MQTT broker", "err", err)
		}
	}
}

// leave says goodbye. If the settings have changed, the broker forgets everybody: it may not be told of them any more.
func (n *session) leave(ctx context.Context, why error) {
	for _, end := range n.watch {
		end()
	}
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	if n.client.IsConnectionOpen() {
		_ = n.send(ctx, "status", "offline")
		for user := range n.watch {
			if errors.Is(why, errChanged) {
				_ = n.forget(ctx, strconv.FormatInt(user, 10))
			}
		}
	}
	n.client.Disconnect(uint(gatherFor.Milliseconds()))
}

// publish publishes what has changed about people, and takes back what the broker knows about others.
func (n *session) publish(ctx context.Context, former map[string]bool) error {
	users, err := n.Store.Users(ctx)
	if err != nil {
		return err
	}
	if err := n.send(ctx, "status", "online"); err != nil {
		return err
	}
	there := map[int64]bool{}
	for _, u := range users {
		if !u.SharesListening {
			continue
		}
		there[u.ID] = true
		person := strconv.FormatInt(u.ID, 10)
		delete(former, person)
		if n.watch[u.ID] == nil {
			n.watch[u.ID] = n.follow(u.ID)
		}
		if err := n.person(ctx, person, u); err != nil {
			return err
		}
	}
	for id, end := range n.watch {
		if !there[id] {
			end()
			delete(n.watch, id)
			former[strconv.FormatInt(id, 10)] = true
		}
	}
	for person := range former {
		if err := n.forget(ctx, person); err != nil {
			return err
		}
		delete(former, person)
	}
	return nil
}

// follow marks a person when something about them changes, until the function that it returns is called.
func (n *session) follow(user int64) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			events := n.Bus.Subscribe(user)
			n.hear(ctx, user, events)
			events.Close()
		}
	}()
	return cancel
}

// hear marks a person for each event about what is published, until the subscription or ctx ends.
func (n *session) hear(ctx context.Context, user int64, s *events.Subscription) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-s.C:
			switch {
			case !open: // it was too slow
				e.Type = events.Listens
			case e.Type != events.NowPlaying && e.Type != events.Listens && e.Type != events.Notification:
				continue
			}
			select {
			case n.dirty <- user:
			case <-ctx.Done():
				return
			}
			if !open {
				return
			}
		}
	}
}

// track is what is playing, as Home Assistant's attributes.
type track struct {
	State  string `json:"state"`
	Track  string `json:"track"`
	Artist string `json:"artist"`
	Album  string `json:"album"`
	With   string `json:"with"`
	Since  string `json:"since,omitempty"`
}

// idle is the state while nothing is playing.
const idle = "idle"

// mostOfState is how many letters a state of Home Assistant has at most.
const mostOfState = 255

// person publishes what is known of somebody.
func (n *session) person(ctx context.Context, person string, u accounts.User) error {
	zone, ok := words.ZoneNamed(u.Zone)
	if !ok {
		zone = time.Local
	}
	now := time.Now().In(zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	today, err := n.Store.CountFound(ctx, library.ListenFilter{User: u.ID, From: midnight.UTC()})
	if err != nil {
		return err
	}
	open, err := n.Store.Notifications(ctx, u.ID, true)
	if err != nil {
		return err
	}
	needs := "OFF"
	for _, one := range open {
		if one.Severity == notify.Error && one.AcknowledgedAt.IsZero() {
			needs = "ON"
		}
	}
	playing := track{State: idle}
	if all := n.Playing.Of(u.ID); len(all) > 0 {
		what, t := all[0], all[0].Track
		state := []rune(t.Artist + " – " + t.Title)
		playing = track{string(state[:min(len(state), mostOfState)]), t.Title, t.Artist, t.Album, what.With,
			library.Stamp(what.Since)}
	}
	if err := n.discover(ctx, person, u); err != nil {
		return err
	}
	text, _ := json.Marshal(playing)
	for under, text := range map[string]string{"playing": string(text), "today": strconv.Itoa(today), "needs": needs} {
		if err := n.send(ctx, person+"/"+under, text); err != nil {
			return err
		}
	}
	return nil
}

// silentError says that the broker doesn't answer. It is tried again.
type silentError struct{ topic string }

func (e *silentError) Error() string { return "the broker doesn't answer about " + e.topic }

// send publishes a state, if it is another than before.
func (n *session) send(ctx context.Context, under, text string) error {
	return n.sendTo(ctx, n.Topic+"/"+under, text)
}

func (n *session) sendTo(ctx context.Context, topic, text string) error {
	if was, ok := n.said[topic]; ok && was == text {
		return nil
	}
	sent := n.client.Publish(topic, 1, true, text)
	select {
	case <-sent.Done():
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(answerWithin):
		return &silentError{topic}
	}
	if sent.Error() != nil {
		return &silentError{topic}
	}
	n.said[topic] = text
	return nil
}

// forget takes back all that the broker has been told of somebody.
func (n *session) forget(ctx context.Context, person string) error {
	if _, err := strconv.ParseInt(person, 10, 64); err != nil { // another program's topic
		return nil
	}
	for _, one := range entities {
		if n.Discovery != "" {
			if err := n.sendTo(ctx, n.config(one, person), ""); err != nil {
				return err
			}
		}
		if err := n.send(ctx, person+"/"+one.name, ""); err != nil {
			return err
		}
	}
	return nil
}
