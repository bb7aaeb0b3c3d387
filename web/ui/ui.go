// Package ui holds the components that all pages are made of: the frame, marks and shapes, times, sentences, cards,
// fields, dialogs, tables, empty states. Each is there once, takes typed values, and decides nothing: which word, which
// button and whether something is calm is decided by the page that uses it.
//
// What a stranger may have written, such as the name of a track or an account, is shown with [Name] in text and with
// words.Isolate in attributes, so that it cannot turn the text around it.
package ui

//go:generate go tool templ generate -path ../..

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"reprise/internal/words"
)

// Frame is what surrounds every page.
type Frame struct {
	Title    string
	Version  string
	Language *words.Language
	Path     string // of the page, with its query
	Help     string // address of the document that helps with it
	Zone     string // IANA name; empty: the browser's
	Days     string // IANA name of the zone in which the page groups by days
	Theme    string // "light", "dark" or empty: the device's
	User     string // name of who is signed in; empty: nobody
	Serial   uint64 // of the last event that the page may know of
	Nav      []Link
	Bell     Bell
	Banners  []Banner
	Quiet    *Link // in place of the banners that the person has dismissed; nil for none
	Notices  []Notice
	Flash    string   // a sentence about what was just done
	Undo     *Action  // undoes that; nil where nothing can
	Small    bool     // without navigation and footer: a page that fits a phone's screen
	Scripts  []string // modules that only this page needs, by file name
	Meta     []Meta   // for link previews and search engines
	Alone    bool     // the page has the whole screen: nothing surrounds it, and no script follows what happens
}

// Link is a link of the navigation.
type Link struct {
	Label, URL string
	Current    string // aria-current: "page" on that page, "true" on a page that belongs to it
	Badge      int    // how many of its things need somebody
	BadgeWords string // the same in words
}

// Bell is the link to the notifications.
type Bell struct {
	Current string // as in Link
	Open    int
	Urgent  bool // whether one of them needs a person
}

// Banner is a notification that needs a person, or several, one line each.
type Banner struct {
	ID, Title, Message string
	Action             *Action
	Hidden             bool // on the page that says it or solves it
	News               bool // nobody has seen it: scripts show it as a toast first, and here when that is gone
}

// Action is a button: a link to URL, or a form that posts to Post.
type Action struct {
	ID          string // of the element; empty for none
	Label       string
	URL, Post   string
	Fields      []Hidden // of the form
	Main        bool     // the main action of its page or card
	Warn        bool     // something is lost by it
	DescribedBy string   // id of the element that says what it is about
}

// Hidden is a hidden field of a form.
type Hidden struct{ Name, Value string }

// Mark is a state, as a shape with a word.
type Mark struct{ Shape, Word string }

var (
	stamped = regexp.MustCompile(words.Stamps.String() + `|https?://[^\s/"'<>]+/[^\s"'<>]*[^\s"'<>.,:;!?)]`)
)

// piece is a part of a sentence: text, a time, or an address.
type piece struct {
	text, url string
	at        time.Time
}

// pieces splits a sentence into text, times (RFC 3339 stamps) and web addresses that have a path; those without one
// and those at example.org are examples of what to type in.
func pieces(sentence string) (all []piece) {
	last := 0
	for _, m := range stamped.FindAllStringIndex(sentence, -1) {
		p := piece{text: sentence[m[0]:m[1]]}
		if strings.HasPrefix(p.text, "https://example.org/") {
			continue // an example
		}
		if strings.HasPrefix(p.text, "http") {
			p.url = p.text
		} else if at, err := time.Parse(time.RFC3339, p.text); err == nil {
			p.at = at
		}
		all = append(all, piece{text: sentence[last:m[0]]}, p)
		last = m[1]
	}
	return append(all, piece{text: sentence[last:]})
}

// The kinds of times: how long ago, how long until then, a time of day with its date if that is another, a date, and a
// time of day alone.
const (
	Ago   = "ago"
	Until = "until"
	At    = "at"
	Date  = "date"
	Clock = "clock"
)

// plainTime is a time for browsers without JavaScript, with its date: in the zone that the reader has chosen, else in
// UTC.
func plainTime(ctx context.Context, t time.Time, kind string) string {
	l, zone, suffix := words.From(ctx), words.Zone(ctx), ""
	if zone == nil {
		zone, suffix = time.UTC, " UTC"
	}
	if kind == Date {
		return l.Day(t.In(zone))
	}
	if kind == Clock {
		return t.In(zone).Format("15:04") + suffix
	}
	return l.Moment(t.In(zone)) + suffix
}

// stamp returns a time as the attribute datetime takes it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// buttonClass returns the classes of a button.
func buttonClass(a Action) string {
	switch {
	case a.Warn:
		return "button warn"
	case a.Main:
		return "button"
	}
	return "button second"
}

// formID returns the id of the form around a button.
func formID(a Action) string {
	if a.ID == "" {
		return ""
	}
	return "do-" + a.ID
}

func htmlClass(theme string) string { return cmp.Or(theme, "auto") }

// Meta is a meta element of a page.
type Meta struct{ Name, Content string }
