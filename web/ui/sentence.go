package ui

import "strings"

// parts returns a sentence in pieces: its text, and the names in it. Names are taken as they are, so that one that
// looks like a slot is none.
func (s Sentence) parts() (all []Named) {
	rest := s.Text
	for rest != "" {
		at, slot := len(rest), ""
		for name := range s.Slots {
			if i := strings.Index(rest, name); i >= 0 && i < at {
				at, slot = i, name
			}
		}
		if at > 0 {
			all = append(all, Named{Text: rest[:at]})
		}
		if slot != "" {
			all = append(all, s.Slots[slot])
		}
		rest = rest[at+len(slot):]
	}
	return all
}
