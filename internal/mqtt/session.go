package mqtt

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"reprise/internal/config"
	"reprise/internal/events"
)

// session is the time with one broker.
type session struct {
	*Publisher
	config.MQTT
	client  paho.Client
	again   chan struct{}     // everything has to be published: the broker was just reached, or took us for gone
	changes chan int64        // users whose state may have changed
	held    chan string       // users whose state the broker holds, as in their topics
	watched map[int64]func()  // ends following a user
	said    map[string]string // what was published last, by topic
}

func newSession(p *Publisher, s config.MQTT) *session {
	n := &session{Publisher: p, MQTT: s, again: make(chan struct{}, 1), changes: make(chan int64, 256),
		held: make(chan string, 256), watched: map[int64]func(){}, said: map[string]string{}}
	o := paho.NewClientOptions().SetClientID(plain(s.Topic)).SetOrderMatters(false).
		SetAutoReconnect(true).SetMaxReconnectInterval(mostRetry).
		SetConnectRetry(true).SetConnectRetryInterval(answerWithin).
		SetConnectTimeout(answerWithin).SetWriteTimeout(answerWithin).
		SetWill(s.Topic+"/status", "offline", 1, true).
		SetOnConnectHandler(n.connected)
	reach(o, s)
	var failed sync.Once // the library tries for ever: one line will do
	o.SetConnectionNotificationHandler(func(_ paho.Client, c paho.ConnectionNotification) {
		switch c := c.(type) {
		case paho.ConnectionNotificationLost:
			n.unreachable(c.Reason)
		case paho.ConnectionNotificationFailed:
			failed.Do(func() { n.unreachable(c.Reason) })
		}
	})
	n.client = paho.NewClient(o)
	return n
}

// reach has a client connect to the broker of the settings, which have been checked.
func reach(o *paho.ClientOptions, s config.MQTT) {
	u, err := url.Parse(string(s.Broker))
	if err != nil {
		return
	}
	password, _ := u.User.Password()
	o.SetUsername(u.User.Username()).SetPassword(password)
	u.User = nil
	port := map[string]string{"mqtt": ":1883", "mqtts": ":8883"}[u.Scheme]
	if u.Port() == "" {
		u.Host += port
	}
	u.Scheme = map[string]string{"mqtt": "tcp", "mqtts": "ssl"}[u.Scheme]
	o.AddBroker(u.String())
}

func (n *session) unreachable(err error) {
	n.Log.Warn("the MQTT broker can't be reached; it is tried again", "err", err)
}

// connected learns what the broker holds, and has everything published.
func (n *session) connected(c paho.Client) {
	n.Log.Info("the MQTT broker is reached")
	c.Subscribe(n.Topic+"/status", 1, func(_ paho.Client, m paho.Message) {
		if string(m.Payload()) == "offline" { // the will of a connection that was lost, perhaps one before this
			n.publishAgain()
		}
	})
	c.Subscribe(n.Topic+"/+/today", 1, func(_ paho.Client, m paho.Message) {
		if len(m.Payload()) == 0 || !m.Retained() {
			return
		}
		select {
		case n.held <- strings.TrimSuffix(strings.TrimPrefix(m.Topic(), n.Topic+"/"), "/today"):
		default: // the next session takes it back
		}
	})
	n.publishAgain()
}

// publishAgain has everything published again.
func (n *session) publishAgain() {
	select {
	case n.again <- struct{}{}:
	default:
	}
}

// run publishes until ctx ends.
func (n *session) run(ctx context.Context) {
	n.client.Connect()
	defer func() { n.leave(context.WithoutCancel(ctx), context.Cause(ctx)) }()
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	former := map[string]bool{} // users whose state the broker may hold and should not
	for {
		var only map[int64]bool // nil for everybody
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-n.again:
			clear(n.said) // the broker may have forgotten all of it
		case user := <-n.changes:
			only = n.gather(ctx, user)
		case user := <-n.held:
			former[user] = true
			if len(n.held) > 0 {
				continue
			}
		}
		if !n.client.IsConnectionOpen() {
			continue
		}
		err := n.publish(ctx, only, former)
		if _, silent := errors.AsType[*silentError](err); err != nil && !silent && ctx.Err() == nil {
			n.Log.Error("what people hear can't be read for the MQTT broker", "err", err)
		}
	}
}

// gather returns a user and those whose state changes within a moment.
func (n *session) gather(ctx context.Context, user int64) map[int64]bool {
	all := map[int64]bool{user: true}
	soon := time.After(gatherFor)
	for {
		select {
		case user := <-n.changes:
			all[user] = true
		case <-soon:
			return all
		case <-ctx.Done():
			return all
		}
	}
}

// leave disconnects. If the settings have changed, the broker forgets everybody: nobody would tell it when somebody
// stops sharing.
func (n *session) leave(ctx context.Context, why error) {
	for _, end := range n.watched {
		end()
	}
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	if n.client.IsConnectionOpen() {
		_ = n.send(ctx, "status", "offline")
		for user := range n.watched {
			if errors.Is(why, errChanged) {
				_ = n.forget(ctx, strconv.FormatInt(user, 10))
			}
		}
	}
	n.client.Disconnect(uint(gatherFor.Milliseconds()))
}

// follow notes when the state of a user may have changed, until the function that it returns is called.
func (n *session) follow(user int64) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			heard := n.Bus.Subscribe(user)
			n.hear(ctx, user, heard)
			heard.Close()
		}
	}()
	return cancel
}

// hear notes each event about what is published, until the subscription or ctx ends. When a subscription ends because
// it was too slow, anything may have happened.
func (n *session) hear(ctx context.Context, user int64, s *events.Subscription) {
	for open := true; open; {
		var e events.Event
		select {
		case <-ctx.Done():
			return
		case e, open = <-s.C:
		}
		if open && e.Type != events.NowPlaying && e.Type != events.Listens && e.Type != events.Notification {
			continue
		}
		select {
		case n.changes <- user:
		case <-ctx.Done():
			return
		}
	}
}
