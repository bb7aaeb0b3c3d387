package playrules

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"reprise/internal/bounded"
	"reprise/internal/library"
	"reprise/internal/words"
)

// Record is what a rule asks for and does as programs read it, without its targets. What it asks for must all be so;
// what is empty is not asked for.
type Record struct {
	Name    string `json:"name" minLength:"1" maxLength:"100"`
	Kind    string `json:"kind" enum:"PlayRuleKind" doc:"rewrite: gives a play another name. ignore: makes no listen of it. withhold: makes a listen of it that isn't sent on."`
	Off     bool   `json:"off" required:"false"`
	Title   string `json:"title" required:"false" maxLength:"500" doc:"A text that the title contains, in any case, or between slashes a regular expression (RE2), such as '/remaster(ed)?/'."`
	Artist  string `json:"artist" required:"false" maxLength:"500"`
	Album   string `json:"album" required:"false" maxLength:"500"`
	Player  string `json:"player" required:"false" maxLength:"500" doc:"A pattern for the name of the player or device."`
	Source  string `json:"source" required:"false" doc:"The id of a connection or a player: only what it tells of."`
	Shorter int    `json:"shorter_than" required:"false" minimum:"0" maximum:"86400" doc:"Seconds; 0 for any."`
	Longer  int    `json:"longer_than" required:"false" minimum:"0" maximum:"86400" doc:"Seconds; 0 for any."`
	Begins  string `json:"begins" required:"false" doc:"With 'ends': only what was played between these times of day in your time zone, such as '22:00' and '06:00'."`
	Ends    string `json:"ends" required:"false"`
	Field   string `json:"field" required:"false" enum:",title,artist,album" doc:"Of 'rewrite': what is replaced in, by the pattern of that name."`
	With    string `json:"with" required:"false" maxLength:"500" doc:"Of 'rewrite': what takes its place; $1 is the first group of a regular expression."`
}

// RecordOf returns a rule as programs read it, without its targets.
func RecordOf(r Rule) Record {
	return Record{Name: r.Name, Kind: string(r.Kind), Off: r.Off, Title: r.Title, Artist: r.Artist, Album: r.Album,
		Player: r.Player, Source: string(r.Source), Shorter: int(r.Shorter / time.Second),
		Longer: int(r.Longer / time.Second), Begins: r.Begins, Ends: r.Ends, Field: r.Field, With: r.With}
}

// Rule returns the rule with these targets, without what its kind does not use.
func (f Record) Rule(to []string) Rule {
	r := Rule{Name: library.Name(f.Name), Kind: Kind(f.Kind), Off: f.Off, Title: f.Title, Artist: f.Artist,
		Album: f.Album, Player: f.Player, Source: library.ConnectionID(f.Source),
		Shorter: time.Duration(f.Shorter) * time.Second, Longer: time.Duration(f.Longer) * time.Second,
		Begins: f.Begins, Ends: f.Ends}
	switch r.Kind {
	case Rewrite:
		r.Field, r.With = f.Field, f.With
	case Withhold:
		for _, id := range to {
			if !slices.Contains(r.To, library.ConnectionID(id)) {
				r.To = append(r.To, library.ConnectionID(id))
			}
		}
	}
	return r
}

// FileName is the name of a file with rules.
const FileName = "rules.json"

// MostFile is the size of such a file at most, in bytes.
const MostFile = 4 << 20

// ErrFile says that a file has no rules that can be read.
var ErrFile = errors.New("no file with rules")

// filed is a rule in a file. Its zone is missing in files of the API's form.
type filed struct {
	ID string `json:"id"`
	Record
	To   []string `json:"to"`
	Zone string   `json:"time_zone,omitempty"`
}

type file struct {
	Rules    []filed                         `json:"rules"`
	Accounts map[library.ConnectionID]string `json:"accounts,omitempty"` // hashes, by the connections that rules name
}

// Write writes rules to a file, and with the accounts of connections that they name, if the file is for the same person
// elsewhere.
func Write(w io.Writer, rules []Rule, all []library.Connection) error {
	f := file{Rules: make([]filed, len(rules)), Accounts: map[library.ConnectionID]string{}}
	for _, c := range all {
		names := func(r Rule) bool { return r.Source == c.ID || slices.Contains(r.To, c.ID) }
		if hash := c.AccountHash(); hash != "" && slices.ContainsFunc(rules, names) {
			f.Accounts[c.ID] = hash
		}
	}
	for i, r := range rules {
		f.Rules[i] = filed{ID: strconv.FormatInt(r.ID, 10), Record: RecordOf(r), To: []string{}, Zone: r.Zone}
		for _, to := range r.To {
			f.Rules[i].To = append(f.Rules[i].To, string(to))
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(f)
}

// Read reads the rules in a file, also one in the API's form. They have the ids that they had where it was written; 0
// for none. They are not checked. They name the connections that the person has here with the accounts that the file
// says. Where another account has the id of one that is not here, a rule that withholds does so everywhere, and one
// about what comes from it is off. Read returns [ErrFile] if there are none to be read.
func Read(from io.Reader, here []library.Connection) ([]Rule, error) {
	body, err := io.ReadAll(io.LimitReader(from, MostFile))
	if err != nil {
		return nil, err
	}
	var f file
	if bounded.JSON(body, bounded.Answer) != nil || json.Unmarshal(body, &f) != nil || f.Rules == nil {
		return nil, ErrFile
	}
	rules := make([]Rule, len(f.Rules))
	for i, v := range f.Rules {
		rules[i] = v.Rule(v.To)
		rules[i].ID, _ = strconv.ParseInt(v.ID, 10, 64) // 0
		rules[i].move(here, f.Accounts)
		if _, ok := words.ZoneNamed(v.Zone); ok {
			rules[i].Zone = v.Zone
		}
	}
	return rules, nil
}

// move gives the connections that a rule names the ids that they have here.
func (r *Rule) move(here []library.Connection, accounts map[library.ConnectionID]string) {
	to := make([]library.ConnectionID, 0, len(r.To))
	for _, id := range r.To {
		id, ok := library.Here(here, id, accounts[id])
		if !ok {
			to = nil
			break
		}
		if !slices.Contains(to, id) {
			to = append(to, id)
		}
	}
	if r.To = to; len(to) == 0 {
		r.To = nil
	}
	source, ok := library.Here(here, r.Source, accounts[r.Source])
	r.Source, r.Off = source, r.Off || !ok
}

// Same reports whether two rules are one, whatever their ids, their people and the zones of their times.
func (r Rule) Same(o Rule) bool {
	return RecordOf(r) == RecordOf(o) && slices.Equal(r.To, o.To)
}
