package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// gatherFor is how long notes wait for others that go with them.
	gatherFor = 5 * time.Millisecond
	// MaxText is the longest text that a Transport sends, in bytes: Postgres takes 8,000, of what is sealed and in
	// base64.
	MaxText = 5800
	// notesWait is how many notes wait to be sent at most.
	notesWait = 4096
	// sendAgainAfter is how long to wait after the database did not take a text.
	sendAgainAfter = time.Second
)

// Transport carries texts between the servers of a database.
type Transport interface {
	// Send sends a text to all servers, this one included.
	Send(ctx context.Context, text string) error
	// Receive calls begun when it hears what is sent from now on, and got with each text. When the connection was lost
	// it begins again, until ctx ends.
	Receive(ctx context.Context, begun func(), got func(text string)) error
}

// Notes tell the other servers what a server has done, so that they look at the database again. A note may get lost
// when the database is away: then every server learns that it has missed something. Safe for concurrent use.
type Notes struct {
	transport Transport
	me        string
	log       *slog.Logger
	out       chan note
	lost      atomic.Bool // a note could not be sent

	mu     sync.Mutex
	topics map[string][]*func(json.RawMessage)
}

// note is something that a server tells.
type note struct {
	Topic string          `json:"t"`
	Data  json.RawMessage `json:"d,omitempty"`
}

// envelope is what is sent at once.
type envelope struct {
	From  string `json:"f"`
	Notes []note `json:"n"`
}

// missed is the topic of a server that has lost notes.
const missed = "missed"

// NewNotes returns the notes of a server with an id, which are sent from Run on.
func NewNotes(id string, transport Transport, log *slog.Logger) *Notes {
	return &Notes{transport: transport, me: id, log: log, out: make(chan note, notesWait),
		topics: map[string][]*func(json.RawMessage){}}
}

// Tell tells the other servers something about a topic. It does not wait.
func (n *Notes) Tell(topic string, about any) {
	data, err := compact(about)
	if err != nil {
		n.log.Error("the other servers can't be told", "topic", topic, "err", err)
		return
	}
	select {
	case n.out <- note{topic, data}:
	default:
		n.Lose()
	}
}

// Lose notes that something was not told: with the next note the others learn that they have missed something.
func (n *Notes) Lose() { n.lost.Store(true) }

// compact returns a value as JSON, without the escapes that only HTML needs.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Hear has what other servers tell about a topic read by f, one after the other, until end is called.
func (n *Notes) Hear(topic string, f func(json.RawMessage)) (end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.topics[topic] = append(n.topics[topic], &f)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.topics[topic] = slices.DeleteFunc(slices.Clone(n.topics[topic]), func(other *func(json.RawMessage)) bool {
			return other == &f
		})
	}
}

// Missed has f called when notes of other servers may have got lost, until end is called.
func (n *Notes) Missed(f func()) (end func()) { return n.Hear(missed, func(json.RawMessage) { f() }) }

// Run sends and receives until ctx ends.
func (n *Notes) Run(ctx context.Context) error {
	var sending sync.WaitGroup
	sending.Go(func() { n.send(ctx) })
	defer sending.Wait()
	return n.transport.Receive(ctx, func() { n.read(note{Topic: missed}) }, n.receive)
}

func (n *Notes) receive(text string) {
	var l envelope
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		n.log.Error("what another server has told can't be read", "err", err)
		n.read(note{Topic: missed})
		return
	}
	if l.From == n.me {
		return
	}
	for _, one := range l.Notes {
		n.read(one)
	}
}

func (n *Notes) read(one note) {
	n.mu.Lock()
	all := n.topics[one.Topic]
	n.mu.Unlock()
	for _, f := range all {
		(*f)(one.Data)
	}
}

// send sends notes until ctx ends.
func (n *Notes) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-n.out:
			n.sendAll(ctx, n.gather(ctx, first))
		}
	}
}

// gather returns a note and those that follow within a moment, in order. Of repetitions the last one stays.
func (n *Notes) gather(ctx context.Context, first note) []note {
	all := []note{first}
	soon := time.After(gatherFor)
	for {
		select {
		case one := <-n.out:
			same := func(other note) bool { return one.Topic == other.Topic && bytes.Equal(one.Data, other.Data) }
			all = append(slices.DeleteFunc(all, same), one)
		case <-soon:
			return all
		case <-ctx.Done():
			return all
		}
	}
}

// size is about how many bytes a note takes in a envelope.
func (n note) size() int { return len(n.Topic) + len(n.Data) + len(`{"t":"","d":},`) }

// sendAll sends notes in as few envelopes as hold them.
func (n *Notes) sendAll(ctx context.Context, all []note) {
	for len(all) > 0 {
		size, count := len(`{"f":"","n":[]}`)+len(n.me), 0
		for count < len(all) && size+all[count].size() <= MaxText {
			size += all[count].size()
			count++
		}
		if count == 0 { // longer than a envelope
			n.lost.Store(true)
			all = all[1:]
			continue
		}
		n.sendOne(ctx, all[:count])
		all = all[count:]
	}
	for n.lost.Swap(false) && !n.sendOne(ctx, []note{{Topic: missed}}) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(sendAgainAfter):
		}
	}
}

// sendOne sends a envelope, and reports whether that was done.
func (n *Notes) sendOne(ctx context.Context, all []note) bool {
	text, err := compact(envelope{n.me, all})
	if err == nil {
		within, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		err = n.transport.Send(within, string(text))
	}
	if err != nil {
		n.lost.Store(true)
		if ctx.Err() == nil {
			n.log.Warn("the other servers don't hear of changes", "err", err)
		}
	}
	return err == nil
}
