package demo

import (
	"slices"

	"reprise/internal/words"
)

// about explains a mode on the page: what the upstream does, and what to expect of Reprise.
type about struct {
	Label, Does, See words.Text
	Shape            string // see ui.Shape
}

// The modes in which the services that are asked for facts about music, and the language model, have something else to
// be seen.
var (
	ofFacts  = []Mode{Normal, Unavailable, RateLimited, KeySpent, Portal, Hang, Cut}
	ofDigest = []Mode{Normal, Unavailable, RateLimited, KeySpent, KeysSpent, Portal, Hang, Cut}
)

// shapeOf is the shape of a mode: what Reprise will make of it.
func shapeOf(m Mode) string {
	switch m {
	case Normal:
		return "healthy"
	case RateLimited, DailyLimit:
		return "held"
	case Unavailable, Portal, Hang, Cut, Slow:
		return "waiting"
	case WrongAccount, KeySpent, KeysSpent, KeyInvalid:
		return "new"
	}
	return "needs_reconnect"
}

func textOf(provider string, m Mode) about {
	name := string(m)
	v := about{Label: words.Each("demo.mode.", name), Shape: shapeOf(m), Does: words.Each("demo.does.", name),
		See: words.Each("demo.expect.", name)}
	switch {
	case provider == MusicBrainz && m == Unavailable:
		v.Label, v.Does, v.See = textOf("", RateLimited).Label, words.New("demo.does.throttle"),
			words.New("demo.expect.throttle")
	case (provider == MusicBrainz || provider == FanartTV) && slices.Contains(ofFacts, m):
		v.See = words.Each("demo.expect.facts_", name)
		if m == KeySpent {
			v.Does = words.New("demo.does.facts_key_spent")
		}
	case provider == OpenAI && slices.Contains(ofDigest, m):
		v.See = words.Each("demo.expect.digest_", name)
		if m == KeySpent || m == KeysSpent {
			v.Does = words.Each("demo.does.digest_", name)
		}
	}
	return v
}
