package events

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

const (
	alice = int64(1)
	bob   = int64(2)
)

// received returns the events that wait in s, without their serials, and whether its channel is closed.
func received(s *Subscription) (all []Event, closed bool) {
	for {
		select {
		case e, ok := <-s.C:
			if !ok {
				return all, true
			}
			e.Serial = 0
			all = append(all, e)
		default:
			return all, false
		}
	}
}

func notification(i int) Event { return Event{Type: Notification, ID: fmt.Sprint(i)} }

func progress(i int) Event {
	return Event{Type: Progress, Connection: "spotify", Stream: "listens", Done: i, Total: 1000}
}

func TestEventsReachTheirUserOnly(t *testing.T) {
	t.Parallel()
	var b Bus
	tabs := []*Subscription{b.Subscribe(alice), b.Subscribe(alice)}
	other := b.Subscribe(bob)
	require.Equal(t, 3, b.Watchers())
	b.Publish(alice, notification(1))
	b.Publish(bob, notification(2))
	b.Publish(3, notification(3))
	for _, tab := range tabs {
		got, closed := received(tab)
		require.Equal(t, []Event{notification(1)}, got)
		require.False(t, closed)
	}
	got, _ := received(other)
	require.Equal(t, []Event{notification(2)}, got)
}

func TestEventsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	var b Bus
	s := b.Subscribe(alice)
	defer s.Close()
	var want []Event
	for i := range Buffer {
		e := notification(i)
		if i%3 == 0 && i < Buffer/2 {
			e = progress(i)
		}
		want = append(want, e)
		b.Publish(alice, e)
	}
	got, closed := received(s)
	require.Equal(t, want, got)
	require.False(t, closed)
}

func TestASubscriptionBeginsNow(t *testing.T) {
	t.Parallel()
	var b Bus
	b.Publish(alice, notification(1))
	s := b.Subscribe(alice)
	b.Publish(alice, notification(2))
	got, _ := received(s)
	require.Equal(t, []Event{notification(2)}, got)
}

// A slow reader's channel is closed after the events in its buffer. Other readers miss nothing.
func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		slow, quick := b.Subscribe(alice), b.Subscribe(alice)
		var got int
		var wg sync.WaitGroup
		wg.Go(func() {
			for range quick.C {
				got++
			}
		})
		began := time.Now()
		for i := range 10 * Buffer {
			b.Publish(alice, notification(i))
			synctest.Wait() // the quick one keeps up
		}
		require.Zero(t, time.Since(began), "publishing never waits")
		quick.Close()
		wg.Wait()
		require.Equal(t, 10*Buffer, got)
		dropped, _ := b.Dropped()
		require.EqualValues(t, 1, dropped, "the slow one only")

		had, closed := received(slow)
		require.True(t, closed)
		require.Len(t, had, Buffer)
		require.Equal(t, notification(Buffer-1), had[Buffer-1], "nothing is missing before the end")
		slow.Close()
		require.Zero(t, b.Watchers())
	})
}

// A stalled tab still gets a notification after any number of progress events.
func TestProgressGivesWay(t *testing.T) {
	t.Parallel()
	for _, n := range []int{30, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			var b Bus
			s := b.Subscribe(alice)
			defer s.Close()
			for i := range n {
				b.Publish(alice, progress(i))
			}
			b.Publish(alice, notification(1))
			b.Publish(alice, Event{Type: SessionEnd, ID: "x"})
			got, closed := received(s)
			require.False(t, closed)
			require.Equal(t, []Event{notification(1), {Type: SessionEnd, ID: "x"}}, got[len(got)-2:])
			require.GreaterOrEqual(t, len(got)-2, min(n, Buffer/2), "it is thinned out, not cut off")

			b.Publish(alice, progress(n))
			got, _ = received(s)
			require.Equal(t, []Event{progress(n)}, got, "and goes on when the tab does")
		})
	}
}

func TestProgressNeverDropsAReader(t *testing.T) {
	t.Parallel()
	var b Bus
	s := b.Subscribe(alice)
	for i := range Buffer {
		b.Publish(alice, notification(i))
	}
	for i := range 1000 {
		b.Publish(alice, progress(i))
	}
	got, closed := received(s)
	require.False(t, closed)
	require.Len(t, got, Buffer)
}

func TestClose(t *testing.T) {
	t.Parallel()
	var b Bus
	s, other := b.Subscribe(alice), b.Subscribe(alice)
	b.Publish(alice, notification(1))
	s.Close()
	s.Close()
	b.Publish(alice, notification(2))
	got, closed := received(s)
	require.Equal(t, []Event{notification(1)}, got)
	require.True(t, closed)
	dropped, _ := b.Dropped()
	require.Zero(t, dropped)
	require.Equal(t, 1, b.Watchers())
	got, _ = received(other)
	require.Len(t, got, 2)
	other.Close()
	require.Zero(t, b.Watchers())
	require.Empty(t, b.users, "users without subscriptions take no memory")
}

// Subscriptions open and close during Publish, and the events of one publisher stay in order.
func TestPublishAgainstClose(t *testing.T) {
	t.Parallel()
	var b Bus
	var publishers, readers sync.WaitGroup
	done := make(chan struct{})
	for p := range 2 {
		publishers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					b.Publish(alice, Event{Type: Listens, Connection: library.ConnectionID(fmt.Sprint(p)), Done: i})
				}
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for range 20 {
				s := b.Subscribe(alice)
				last := map[library.ConnectionID]int{}
				for range 20 {
					e, ok := <-s.C
					if !ok {
						break // too slow, which the publishers do not wait for
					}
					if before, seen := last[e.Connection]; seen && e.Done != before+1 {
						t.Errorf("%d after %d", e.Done, before)
					}
					last[e.Connection] = e.Done
				}
				go s.Close()
				s.Close()
				runtime.Gosched()
			}
		})
	}
	readers.Wait()
	close(done)
	publishers.Wait()
	require.Zero(t, b.Watchers())
}

// BenchmarkPublish publishes to 1 and 100 subscribers, which receive it. "of-sends" is the speed as a share of that of
// bare channels without a lock.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var bus Bus
			subs := make([]*Subscription, n)
			for i := range subs {
				subs[i] = bus.Subscribe(alice)
			}
			e := notification(1)
			b.ReportAllocs()
			// The least that it can cost: a loop of sends, in the same run and in turns with ours.
			channels := make([]chan Event, n)
			for i := range channels {
				channels[i] = make(chan Event, Buffer)
			}
			ours, bare := time.Hour, time.Hour
			rounds := 10_000 / n
			for b.Loop() {
				began := time.Now()
				for range rounds {
					bus.Publish(alice, e)
					for _, s := range subs {
						<-s.C
					}
				}
				ours = min(ours, time.Since(began)) // whatever else the machine does
				began = time.Now()
				for range rounds {
					for _, c := range channels {
						select {
						case c <- e:
						default:
						}
					}
					for _, c := range channels {
						<-c
					}
				}
				bare = min(bare, time.Since(began))
			}
			b.ReportMetric(float64(ours.Nanoseconds())/float64(rounds), "ns/publish")
			b.ReportMetric(float64(bare.Nanoseconds())/float64(rounds), "ns/sends")
			b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-sends")
			dropped, _ := bus.Dropped()
			require.Zero(b, dropped)
			for _, s := range subs {
				s.Close()
			}
		})
	}
}

// What is read after asking for the serial is not older than any event up to it.
func TestSerialsGrowWithEveryEvent(t *testing.T) {
	t.Parallel()
	var b Bus
	first, other := b.Subscribe(alice), b.Subscribe(bob)
	require.Zero(t, b.Serial())
	b.Publish(alice, notification(1))
	b.Publish(3, notification(2)) // nobody's, and counted
	b.PublishAll(Event{Type: Access})
	require.EqualValues(t, 1, (<-first.C).Serial)
	require.EqualValues(t, 3, (<-first.C).Serial)
	require.EqualValues(t, 3, (<-other.C).Serial)
	require.EqualValues(t, 3, b.Serial())
}

func TestPublishAllReachesEverybody(t *testing.T) {
	t.Parallel()
	var b Bus
	b.PublishAll(Event{Type: Access}) // to nobody
	first, second, other := b.Subscribe(alice), b.Subscribe(alice), b.Subscribe(bob)
	b.PublishAll(Event{Type: Access})
	for _, s := range []*Subscription{first, second, other} {
		all, closed := received(s)
		require.Equal(t, []Event{{Type: Access}}, all)
		require.False(t, closed)
	}
}
