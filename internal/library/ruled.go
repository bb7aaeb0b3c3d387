package library

import "strconv"

// Ruled is what a person's rules for their plays have done to a listen, or to a play that is none because of a rule.
type Ruled struct {
	Was      Track // the names and ids before rules renamed it
	Renamed  []RuleName
	Withheld []Withheld
	Ignored  RuleName // the rule that makes no listen of it; zero for a listen
}

// RuleName names a rule. A rule that was deleted has an id, but no name.
type RuleName struct {
	ID   int64
	Name string
}

// Withheld says that a rule keeps a listen from being sent to a connection; to any, if that is empty.
type Withheld struct {
	To      ConnectionID
	By      RuleName
	Account string // of To; see [Connection.AccountHash]
}

// RuleRecord is a RuleName as programs read it.
type RuleRecord struct {
	RuleID string `json:"rule_id"`
	Rule   string `json:"rule" doc:"Its name; empty if it was deleted."`
}

// RenamedRecord is what a listen was called before rules renamed it.
type RenamedRecord struct {
	Track         string       `json:"track"`
	Artist        string       `json:"artist"`
	Album         string       `json:"album"`
	ISRC          *string      `json:"isrc"`
	RecordingMBID *string      `json:"recording_mbid"`
	By            []RuleRecord `json:"by"`
}

// WithheldRecord is a Withheld as programs read it.
type WithheldRecord struct {
	Connection ConnectionID `json:"connection" doc:"Where it isn't sent; empty: nowhere at all."`
	Account    string       `json:"account,omitempty" doc:"A hash that tells its account from others; left out if that isn't known."`
	RuleRecord
}

// RuledRecord is a Ruled as programs read it.
type RuledRecord struct {
	Renamed  *RenamedRecord   `json:"renamed,omitempty" doc:"What it was called before."`
	Withheld []WithheldRecord `json:"withheld" doc:"Where it is kept from being sent."`
	Ignored  *RuleRecord      `json:"ignored,omitempty" doc:"The rule that ignores this play."`
}

func (n RuleName) record() RuleRecord { return RuleRecord{strconv.FormatInt(n.ID, 10), n.Name} }

// named returns the name of a rule. An id that can't be read is -1, which no rule has.
func (r RuleRecord) named() RuleName {
	id, err := strconv.ParseInt(r.RuleID, 10, 64)
	if err != nil || id == 0 {
		id = -1
	}
	return RuleName{id, Name(r.Rule)}
}

// Record returns what the rules did as programs read it; nil for nil.
func (v *Ruled) Record() *RuledRecord {
	if v == nil {
		return nil
	}
	r := &RuledRecord{Withheld: []WithheldRecord{}}
	if len(v.Renamed) > 0 {
		r.Renamed = &RenamedRecord{Track: v.Was.Title, Artist: v.Was.Artist, Album: v.Was.Album,
			ISRC: known(v.Was.ISRC), RecordingMBID: known(v.Was.RecordingMBID)}
		for _, by := range v.Renamed {
			r.Renamed.By = append(r.Renamed.By, by.record())
		}
	}
	for _, w := range v.Withheld {
		r.Withheld = append(r.Withheld, WithheldRecord{w.To, w.Account, w.By.record()})
	}
	if v.Ignored != (RuleName{}) {
		by := v.Ignored.record()
		r.Ignored = &by
	}
	return r
}

// known returns a text, or nil for an empty one.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// stored returns what the record says that rules did; nil for nil. It leaves out targets that no connection can be, and
// does not clean the names of the track.
func (r *RuledRecord) stored() *Ruled {
	if r == nil {
		return nil
	}
	v := &Ruled{}
	if was := r.Renamed; was != nil {
		v.Was.Title, v.Was.Artist, v.Was.Album = was.Track, was.Artist, was.Album
		if was.ISRC != nil {
			v.Was.ISRC = *was.ISRC
		}
		if was.RecordingMBID != nil {
			v.Was.RecordingMBID = *was.RecordingMBID
		}
		for _, by := range was.By {
			v.Renamed = append(v.Renamed, by.named())
		}
	}
	for _, w := range r.Withheld {
		if to, ok := ParseConnectionID(string(w.Connection)); ok || w.Connection == "" {
			v.Withheld = append(v.Withheld, Withheld{to, w.named(), w.Account})
		}
	}
	if r.Ignored != nil {
		v.Ignored = r.Ignored.named()
	}
	return v
}
