package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// post is a Transport in memory.
type post struct {
	mu      sync.Mutex
	down    bool
	hangs   chan struct{} // until it is closed
	texts   []string
	readers []func(string)
	begun   []func()
}

func (p *post) Send(_ context.Context, text string) error {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return errors.New("no answer")
	}
	p.texts = append(p.texts, text)
	for _, got := range p.readers {
		got(text)
	}
	return nil
}

func (p *post) Receive(ctx context.Context, begun func(), got func(string)) error {
	p.mu.Lock()
	p.readers, p.begun = append(p.readers, got), append(p.begun, begun)
	p.mu.Unlock()
	begun()
	<-ctx.Done()
	return nil
}

func (p *post) goes(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// reader is what a server has heard.
type reader struct {
	*Notes
	heard  []string
	missed int
	end    func() // of hearing songs
}

// joins returns the notes of a server, which are sent and read until the test ends.
func (p *post) joins(t *testing.T, id string) *reader {
	t.Helper()
	r := &reader{Notes: NewNotes(id, p, slog.New(slog.DiscardHandler))}
	r.Missed(func() { r.missed++ })
	r.end = r.Hear("songs", func(data json.RawMessage) {
		var song string
		require.NoError(t, json.Unmarshal(data, &song))
		r.heard = append(r.heard, song)
	})
	go r.Run(t.Context())
	synctest.Wait()
	require.Equal(t, 1, r.missed, "what was told before")
	return r
}

// pass lets time pass, and what is due then be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestServersTellEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		one, other := p.joins(t, "1"), p.joins(t, "2")
		for _, song := range []string{"Hunter", "Jóga", "Hunter", "Bachelorette"} {
			one.Tell("songs", song)
		}
		one.Tell("something that an older version doesn't know", 1)
		other.Tell("songs", "Pluto")
		pass(gatherFor)
		require.Equal(t, []string{"Jóga", "Hunter", "Bachelorette"}, other.heard, "in order, each once")
		require.Equal(t, []string{"Pluto"}, one.heard, "nothing of its own")
		require.Len(t, p.texts, 2)

		pass(time.Second)
		one.Tell("songs", "Hunter")
		pass(time.Second)
		require.Equal(t, "Hunter", other.heard[3], "it is news again")
		other.Hear("songs", func(json.RawMessage) {})
		other.end()
		one.Tell("songs", "Unravel")
		pass(time.Second)
		require.Len(t, other.heard, 4)
	})
}

func TestManyNotesFitIntoFewTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		one, other := p.joins(t, "1"), p.joins(t, "2")
		for i := range 100 {
			one.Tell("songs", strings.Repeat(string(rune('a'+i%26)), 700+i))
		}
		pass(time.Second)
		require.Len(t, other.heard, 100)
		for _, l := range p.texts {
			require.LessOrEqual(t, len(l), MaxText)
		}
		require.Less(t, len(p.texts), 20)
		require.Equal(t, 1, other.missed)
		one.Tell("songs", strings.Repeat("a", MaxText))
		one.Tell("songs", "short")
		pass(time.Second)
		require.Equal(t, 2, other.missed, "of what is too long for an envelope it learns that there was something")
		require.Equal(t, "short", other.heard[100])
	})
}

func TestWhatCannotBeToldIsMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &post{}
		one, other := p.joins(t, "1"), p.joins(t, "2")
		p.goes(true)
		one.Tell("songs", "Hunter")
		pass(time.Minute)
		require.Empty(t, other.heard)
		p.goes(false)
		pass(sendAgainAfter)
		require.Equal(t, 2, other.missed, "as soon as it can be told")

		p.mu.Lock()
		p.hangs = make(chan struct{})
		p.mu.Unlock()
		one.Tell("songs", "Hunter")
		pass(time.Second)
		for i := range notesWait + 1 {
			one.Tell("songs", strconv.Itoa(i))
		}
		close(p.hangs)
		pass(time.Second)
		require.Equal(t, 3, other.missed, "one too many")
		require.Len(t, other.heard, 1+notesWait)
		require.NoError(t, p.Send(t.Context(), "no envelope"))
		require.Equal(t, 4, other.missed)
		require.Equal(t, 2, one.missed)
		p.begun[1]() // its connection was lost, and is back
		require.Equal(t, 5, other.missed)
		one.Tell("songs", func() {}) // which no JSON has
	})
}
