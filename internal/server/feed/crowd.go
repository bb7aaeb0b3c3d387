package feed

import (
	"slices"
	"sync"
)

// crowd bounds how many streams each person has. It is safe for concurrent use.
type crowd struct {
	mu   sync.Mutex
	open map[int64][]*place // the oldest first
}

// place is where one stream is in a crowd.
type place struct {
	user int64
	out  func() // is called when the stream has to make room; must not block
}

// enter adds a stream of a user, and asks their oldest one to end if there would be more than most; 0 for no bound.
func (c *crowd) enter(user int64, most int, out func()) *place {
	in := &place{user, out}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[int64][]*place{}
	}
	if theirs := c.open[user]; most > 0 && len(theirs) >= most {
		theirs[0].out()
		c.open[user] = slices.Clone(theirs[1:])
	}
	c.open[user] = append(c.open[user], in)
	return in
}

// leave removes a stream that has ended.
func (c *crowd) leave(p *place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := slices.DeleteFunc(c.open[p.user], func(o *place) bool { return o == p })
	if c.open[p.user] = rest; len(rest) == 0 {
		delete(c.open, p.user)
	}
}
