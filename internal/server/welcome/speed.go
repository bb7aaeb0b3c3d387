package welcome

import (
	"sync"
	"time"
)

// speed estimates how long the history of connections takes to arrive, from how much has come since somebody looked
// first. It is safe for concurrent use.
type speed struct {
	mu    sync.Mutex
	first map[seen]mark
}

type seen struct {
	user int64
	key  string // connection and stream
}

// mark is what was there when somebody looked.
type mark struct {
	at   time.Time
	done int
}

// mostSeen bounds the memory; more than that do not look at once.
const mostSeen = 1000

// longEnough is how long a rate has to be measured.
const longEnough = 2 * time.Second

func newSpeed() *speed { return &speed{first: map[seen]mark{}} }

// left returns how long the rest takes; zero if that is not known.
func (s *speed) left(user int64, key string, done, total int, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := seen{user, key}
	from, ok := s.first[k]
	if !ok || done < from.done {
		if len(s.first) >= mostSeen {
			clear(s.first)
		}
		s.first[k] = mark{now, done}
		return 0
	}
	took, came := now.Sub(from.at), done-from.done
	if took < longEnough || came <= 0 || total <= done {
		return 0
	}
	return max(time.Second, time.Duration(float64(took)*float64(total-done)/float64(came)))
}

// forget drops what is known of a history that has arrived.
func (s *speed) forget(user int64, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.first, seen{user, key})
}
