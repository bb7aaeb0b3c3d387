// Package playrules applies people's own rules to what they play: they rename plays, ignore them, or keep them from
// being sent on. A rule is applied when a play comes in, before anything else is done with it. All functions are pure.
package playrules

import (
	"cmp"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reprise/internal/library"
	"reprise/internal/words"
)

// Kind is what a rule does.
type Kind string

// The kinds.
const (
	Rewrite  Kind = "rewrite"  // gives a play another name
	Ignore   Kind = "ignore"   // makes no listen of it
	Withhold Kind = "withhold" // makes a listen of it, and sends that nowhere, or not everywhere
)

// Kinds are all kinds, in the order in which people see them.
var Kinds = []Kind{Rewrite, Ignore, Withhold}

// Fields are the names that a rule can rewrite.
var Fields = []string{"title", "artist", "album"}

const (
	// Most is how many rules a person has at most.
	Most = 100
	// mostPattern is the length of a pattern, in letters.
	mostPattern = 500
	// mostSteps is how large a pattern gets at most when it is compiled. Nested repeats make a short one huge, which
	// would hold up every play; 500 letters need about as many steps.
	mostSteps = 2000
	// mostTargets bounds the connections that a rule can keep plays from, and mostID the bytes in the id of one.
	mostTargets, mostID = 100, 100
	// mostMinutes bounds the lengths that a rule asks for: a day.
	mostMinutes = 24 * 60
)

// ErrTooMany says that a person has as many rules as they may.
var ErrTooMany = errors.New("too many rules")

// Rule is one rule of a person. A play must meet all of its conditions; an empty field is no condition. A pattern is a
// text that the name contains, ignoring case, or a regular expression between slashes, such as /remaster(ed)?/.
type Rule struct {
	ID, User int64
	Name     string
	Kind     Kind
	Off      bool

	Title, Artist, Album, Player string // patterns
	Source                       library.ConnectionID
	Shorter, Longer              time.Duration // than that, where the length is known
	Begins, Ends                 string        // between these times of day, such as 22:00
	Zone                         string        // whose times of day, for a person who has chosen none

	Field string                 // of Rewrite: what is replaced in, by the pattern of that name
	With  string                 // of Rewrite: with what; $1 is the first group of a regular expression
	To    []library.ConnectionID // of Withhold: where it is not sent; empty for nowhere at all
}

// Gone takes the place of the id of a rule that was deleted without undoing what it did, once that is restored
// elsewhere.
const Gone = -1

// Check returns what is wrong with a rule; the zero Text for nothing.
func (r Rule) Check() words.Text {
	if r.Name == "" || utf8.RuneCountInString(r.Name) > 100 {
		return words.New("playrules.wrong.name")
	}
	if !slices.Contains(Kinds, r.Kind) {
		return words.New("playrules.wrong.kind")
	}
	for _, p := range []string{r.Title, r.Artist, r.Album, r.Player} {
		if utf8.RuneCountInString(p) > mostPattern {
			return words.New("playrules.wrong.long", "Most", mostPattern)
		}
		if _, err := compile(p); err != nil {
			return words.New("playrules.wrong.pattern", "Pattern", p)
		}
	}
	long := func(id library.ConnectionID) bool { return len(id) > mostID }
	if len(r.To) > mostTargets || slices.ContainsFunc(append(slices.Clone(r.To), r.Source), long) {
		return words.New("playrules.wrong.service")
	}
	for _, d := range []time.Duration{r.Shorter, r.Longer} {
		if d < 0 || d > mostMinutes*time.Minute {
			return words.New("playrules.wrong.length")
		}
	}
	begins, ok := clock(r.Begins)
	ends, too := clock(r.Ends)
	switch {
	case !ok || !too || (r.Begins == "") != (r.Ends == "") || r.Begins != "" && begins == ends:
		return words.New("playrules.wrong.clock")
	case r.Kind == Rewrite && (!slices.Contains(Fields, r.Field) || r.pattern() == ""):
		return words.New("playrules.wrong.field")
	case r.Kind == Rewrite && utf8.RuneCountInString(r.With) > mostPattern:
		return words.New("playrules.wrong.long", "Most", mostPattern)
	case r.Kind != Rewrite && r.asksNothing():
		return words.New("playrules.wrong.all")
	}
	return words.Text{}
}

// pattern returns the pattern by which a rule rewrites.
func (r Rule) pattern() string {
	return map[string]string{"title": r.Title, "artist": r.Artist, "album": r.Album}[r.Field]
}

// asksNothing reports whether a rule is about every play.
func (r Rule) asksNothing() bool {
	return r.Title+r.Artist+r.Album+r.Player+r.Begins == "" && r.Source == "" && r.Shorter == 0 && r.Longer == 0
}

// OfNames reports whether a rule asks for nothing but names and lengths, so that it says the same of every play of a
// track.
func (r Rule) OfNames() bool { return r.Player == "" && r.Source == "" && r.Begins == "" }

// clock returns a time of day as minutes after midnight; not ok if the text is none. An empty text is 0.
func clock(text string) (minutes int, ok bool) {
	if text == "" {
		return 0, true
	}
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err == nil
}

// expression returns the regular expression that a pattern is; not ok for a text.
func expression(pattern string) (text string, ok bool) {
	if len(pattern) > 2 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/") {
		return pattern[1 : len(pattern)-1], true
	}
	return "", false
}

var errLarge = errors.New("the pattern is too large")

// compile returns a pattern; nil for an empty one.
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	text, ok := expression(pattern)
	if !ok {
		return regexp.Compile("(?i)" + regexp.QuoteMeta(pattern))
	}
	text = "(?i)" + text
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if program, err := syntax.Compile(parsed.Simplify()); err != nil || len(program.Inst) > mostSteps {
		return nil, errLarge
	}
	return regexp.Compile(text)
}

// group matches the first digits of a group in what takes a pattern's place: $1st is the first group, and "st".
var group = regexp.MustCompile(`\$(\d+)`)

// compiled is a rule that can be applied.
type compiled struct {
	Rule
	title, artist, album, player *regexp.Regexp
	begins, ends                 int
	zone                         *time.Location
	with                         string // for [regexp.Regexp.ReplaceAllString]
}

// Set is the rules of a person, in their order. It is immutable; a nil one has no rules.
type Set struct{ rules []compiled }

// New returns the rules that are on. One that is wrong is left out. Times of day are those of a zone, or if that is
// nil, of each rule's.
func New(all []Rule, zone *time.Location) *Set {
	s := &Set{}
	for _, r := range all {
		if r.Off || !r.Check().IsZero() {
			continue
		}
		c := compiled{Rule: r}
		c.title, _ = compile(r.Title) // Check has compiled them
		c.artist, _ = compile(r.Artist)
		c.album, _ = compile(r.Album)
		c.player, _ = compile(r.Player)
		c.begins, _ = clock(r.Begins)
		c.ends, _ = clock(r.Ends)
		if c.with = strings.ReplaceAll(r.With, "$", "$$"); c.isExpression() {
			c.with = group.ReplaceAllString(r.With, "$${$1}")
		}
		if c.zone = zone; zone == nil {
			c.zone = time.Local
			if named, ok := words.ZoneNamed(r.Zone); ok {
				c.zone = named
			}
		}
		s.rules = append(s.rules, c)
	}
	if len(s.rules) == 0 {
		return nil
	}
	return s
}

// Play is a play as rules see it.
type Play struct {
	library.Track
	At     time.Time
	Player string
	Source library.ConnectionID
}

// Outcome is what the rules of a person make of a play.
type Outcome struct {
	Track    library.Track
	Rewrote  []int64 // the rules that have given it another name
	Ignored  int64   // the rule that makes no listen of it; 0 for none
	Withheld []Withheld
}

// Withheld says that a rule keeps a listen from being sent to some connections, or with an empty To, to any.
type Withheld struct {
	Rule int64
	To   []library.ConnectionID
}

// Everywhere takes the place of a connection for all of them.
const Everywhere library.ConnectionID = ""

// Targets returns the connections that the rule keeps the listen from, or [Everywhere] alone.
func (w Withheld) Targets() []library.ConnectionID {
	if len(w.To) == 0 {
		return []library.ConnectionID{Everywhere}
	}
	return w.To
}

// Apply returns what the rules make of a play: first the names, by one rule after the other, then the rest by the names
// that it has then.
func (s *Set) Apply(p Play) (o Outcome) {
	o.Track = p.Track
	if s == nil {
		return o
	}
	for _, r := range s.rules {
		if r.Kind != Rewrite || !r.fits(p) {
			continue
		}
		if t := r.rewrite(p.Track); t.Title != p.Title || t.Artist != p.Artist || t.Album != p.Album {
			p.Track = t
			o.Track, o.Rewrote = t, append(o.Rewrote, r.ID)
		}
	}
	for _, r := range s.rules {
		switch {
		case r.Kind == Rewrite || !r.fits(p):
		case r.Kind == Ignore:
			o.Ignored = cmp.Or(o.Ignored, r.ID)
		default:
			o.Withheld = append(o.Withheld, Withheld{r.ID, r.To})
		}
	}
	return o
}

// fits reports whether a play is what a rule asks for.
func (r compiled) fits(p Play) bool {
	has := func(pattern *regexp.Regexp, name string) bool { return pattern == nil || pattern.MatchString(name) }
	return has(r.title, p.Title) && has(r.artist, p.Artist) && has(r.album, p.Album) && has(r.player, p.Player) &&
		(r.Source == "" || r.Source == p.Source) &&
		(r.Shorter == 0 || p.Duration > 0 && p.Duration < r.Shorter) &&
		(r.Longer == 0 || p.Duration > r.Longer) &&
		(r.Begins == "" || within(p.At.In(r.zone), r.begins, r.ends))
}

// isExpression reports whether a rule rewrites by a regular expression.
func (r Rule) isExpression() bool {
	_, ok := expression(r.pattern())
	return ok
}

// within reports whether a time is between two times of day, in minutes; also over midnight.
func within(at time.Time, begins, ends int) bool {
	now := at.Hour()*60 + at.Minute()
	if begins < ends {
		return begins <= now && now < ends
	}
	return now >= begins || now < ends
}

// rewrite returns a track with a name rewritten. If no title or no artist would be left, it changes nothing. A new
// title or artist also drops the track's ids: services and MusicBrainz know them by the old name, and would bring that
// back.
func (r compiled) rewrite(t library.Track) library.Track {
	pattern, field := r.title, &t.Title
	switch r.Field {
	case "artist":
		pattern, field = r.artist, &t.Artist
		t.Artists = nil
	case "album":
		pattern, field = r.album, &t.Album
	}
	now := library.Name(strings.Join(strings.Fields(pattern.ReplaceAllString(*field, r.with)), " "))
	if now == "" && r.Field != "album" {
		return t
	}
	if *field = now; r.Field != "album" {
		t.ISRC, t.RecordingMBID = "", ""
	}
	return t
}

// Targets returns the connections that the rules keep the listen from; see [Withheld.Targets].
func (o Outcome) Targets() (all []library.ConnectionID) {
	for _, w := range o.Withheld {
		all = append(all, w.Targets()...)
	}
	return all
}

// Sends reports whether a listen that is withheld from some targets may be sent to a connection. same reports whether
// a target leads to the same account as that connection.
func Sends(withheld []library.ConnectionID, same func(library.ConnectionID) bool) bool {
	return !slices.ContainsFunc(withheld, func(id library.ConnectionID) bool { return id == Everywhere || same(id) })
}

// Done is how many listens a rule has changed, as far as that is not undone.
type Done struct{ Renamed, Ignored, Withheld int }

// Finished are ready-made rules. They have no names: package words has one under "playrules.finished." and the key.
var Finished = []struct {
	Key string
	Rule
}{
	{"remastered", Rule{Kind: Rewrite, Field: "title", Title: `/\s*(?:[-–—]|[(\[])\s*(?:\d{4}\s+)?` +
		`(?:digital(?:ly)?\s+)?remaster(?:ed)?(?:\s+(?:version|edition))?(?:\s+\d{4})?\s*(?:version)?\s*[)\]]?\s*$/`}},
	{"featuring", Rule{Kind: Rewrite, Field: "title", Title: `/\s*(?:[(\[]\s*(?:feat|ft|featuring)\b\.?\s[^)\]]*[)\]]` +
		`|\s(?:feat\.|ft\.|featuring)\s.*$)/`}},
	{"video", Rule{Kind: Rewrite, Field: "title", Title: `/\s*[(\[][^()\[\]]*\b(?:official|lyrics?|visuali[sz]er)\b` +
		`[^()\[\]]*[)\]]/`}},
	{"short", Rule{Kind: Ignore, Shorter: 30 * time.Second}},
	{"long", Rule{Kind: Ignore, Longer: 40 * time.Minute}},
	{"night", Rule{Kind: Withhold, Begins: "22:00", Ends: "06:00"}},
}
