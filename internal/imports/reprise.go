package imports

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	exports "reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/words"
)

// Reprise is the provider name under which exports of Reprise are imported. It is not a real provider: each listen
// names the connections that reported it.
const Reprise = "reprise"

// corrections and loved are files in an archive that are no listens. Corrections are not imported, because the listens
// already reflect them.
const (
	corrections = "corrections.jsonl"
	loved       = "loved.jsonl"
)

// ours reads exports of Reprise: the ZIP file with everything, its listens.jsonl, the months archived at an S3
// connection, and listens.csv.
var ours = format{
	what:     words.New("import.what.reprise"),
	expected: words.New("import.expected.reprise"),
	wants: func(name string) bool {
		return ending(name, ".jsonl") && !hidden(name) && path.Base(name) != corrections && path.Base(name) != loved ||
			strings.EqualFold(path.Base(name), exports.CSV.Name)
	},
	is: func(head string) bool {
		return strings.HasPrefix(head, exports.Heading) ||
			strings.Contains(firstLine(head), `"played_at"`) && strings.Contains(firstLine(head), `"sources"`)
	},
	read: func(m *meter, _ Answers, out yield) error {
		c, err := m.begins()
		switch {
		case err != nil || c == 0: // an archive has an empty file of somebody whose rules ignore all
			return err
		case c == '{':
			sh := shape{lines: true, bad: words.New("import.row.listen")}
			return jsonRows(m, sh, func(r *library.ListenRecord) row { return restored(*r) }, few(out))
		}
		return ourTable(m, few(out))
	},
}

// mostNamed caps the connections that the listens of one file may name, since each is stored for good.
const mostNamed = 100

// few rejects rows once the file has named mostNamed connections and a row names another.
func few(out yield) yield {
	named := map[library.ConnectionID]bool{}
	return func(v row) bool {
		all := make([]library.ConnectionID, 0, len(v.sources))
		for _, s := range v.sources {
			all = append(all, s.Connection)
		}
		if v.ruled != nil {
			for _, w := range v.ruled.Withheld {
				if w.To != playrules.Everywhere {
					all = append(all, w.To)
				}
			}
		}
		for _, id := range all {
			if !named[id] && len(named) == mostNamed {
				return out(row{bad: words.New("import.row.listen")})
			}
			named[id] = true
		}
		return out(v)
	}
}

// provider matches a provider's name.
var provider = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// mostSources caps the sources of a listen, and mostWithheld from where it may be withheld, by each rule.
const mostSources, mostWithheld = 50, 300

// restored returns the row of an exported listen. A listen without sources gets one derived from the listen, so that
// importing the file again does not store it twice.
func restored(r library.ListenRecord) row {
	if r.PlayedAt == "" {
		return row{bad: words.New("import.row.no_time")}
	}
	l, ok := r.Stored()
	switch {
	case !ok || len(l.Sources) > mostSources:
		return row{bad: words.New("import.row.listen")}
	case l.Duration < 0:
		return row{bad: words.New("import.row.length")}
	}
	if len(l.Sources) == 0 {
		l.Sources = []library.Source{{Connection: Reprise, SourceID: library.FromExport + "listens:" +
			strconv.FormatInt(l.PlayedAt.Unix(), 10) + ":" + library.NameHash(l.Artist, l.Title)}}
	}
	for i, s := range l.Sources {
		if s.SourceID == "" || s.Later.Abs() > maxPlayed || !provider.MatchString(s.Connection.Provider()) {
			return row{bad: words.New("import.row.listen")}
		}
		l.Sources[i].SourceID = library.ID(s.SourceID)
	}
	if did := l.Ruled; did != nil {
		wrong := func(w library.Withheld) bool {
			return w.To != playrules.Everywhere && !provider.MatchString(w.To.Provider())
		}
		if len(did.Renamed) > playrules.Most || len(did.Withheld) > mostWithheld ||
			slices.ContainsFunc(did.Withheld, wrong) {
			return row{bad: words.New("import.row.listen")}
		}
	}
	v := play(l.Listen)
	v.sources, v.ruled = l.Sources, l.Ruled
	if v.bad.IsZero() && l.Ruled != nil {
		if len(l.Ruled.Renamed) > 0 {
			was := l.Listen
			was.Track = l.Ruled.Was
			was.Duration = l.Duration
			told := play(was)
			if !told.bad.IsZero() {
				return row{bad: words.New("import.row.listen")}
			}
			l.Ruled.Was = told.listen.Track
		}
		v.skip = l.Ruled.Ignored != (library.RuleName{})
	}
	return v
}

// archived are the rules of the archive that is being read, and what they are here.
type archived struct {
	here map[int64]int64    // their ids by those in the archive
	by   map[ruleName]int64 // the ids of the person's rules by their names

	connections []library.Connection // of the person
}

// ruleName tells a person's rules apart as people do.
type ruleName struct {
	kind playrules.Kind
	name string
}

// ids returns the ids of the archive's rules.
func (a archived) ids() []int64 { return slices.Collect(maps.Values(a.here)) }

// find returns the id of a rule that an archive names: of the same one, else of one of its kind with its name, else
// playrules.Gone.
func (a archived) find(kind playrules.Kind, r library.RuleName) library.RuleName {
	id, ok := a.here[r.ID]
	if !ok {
		id, ok = a.by[ruleName{kind, r.Name}]
	}
	if r.ID = id; !ok {
		r.ID = playrules.Gone
	}
	return r
}

// settle gives the rules and the connections that a listen names the ids that they have here. What was withheld from an
// account whose id another one has here is withheld everywhere.
func (a archived) settle(v *library.Ruled) {
	if v == nil {
		return
	}
	for i := range v.Renamed {
		v.Renamed[i] = a.find(playrules.Rewrite, v.Renamed[i])
	}
	for i := range v.Withheld {
		w := &v.Withheld[i]
		w.By = a.find(playrules.Withhold, w.By)
		to, ok := library.Here(a.connections, w.To, w.Account)
		if w.To = to; !ok {
			w.To = playrules.Everywhere
		}
	}
	if v.Ignored != (library.RuleName{}) {
		v.Ignored = a.find(playrules.Ignore, v.Ignored)
	}
}

// rules stores the rules of an archive that the person lacks, when the archive begins to be read, and finds out what
// the archive's rules are here. Those that can't be stored are counted as bad rows.
func (j *job) rules(ctx context.Context, e *export) error {
	if j.at.Connection != Reprise {
		return nil
	}
	store := j.r.c.Store
	connections, err := store.UserConnections(ctx, j.at.User)
	if err != nil {
		return err
	}
	var all []playrules.Rule
	begins := j.at.Entry == 0 && j.at.EntryRow == 0
	if e.rules != nil {
		in, err := e.rules()
		if err == nil {
			all, err = playrules.Read(in, connections)
			err = errors.Join(err, in.Close())
		}
		if err != nil && begins {
			j.at.bad(words.New("import.row.file", "File", playrules.FileName, "Why", words.New("import.row.rule")))
		}
	}
	if begins && !j.at.Preview && len(all) > 0 {
		right := slices.DeleteFunc(slices.Clone(all), func(r playrules.Rule) bool { return !r.Check().IsZero() })
		err := j.attempt(ctx, func() error { return store.RestorePlayRules(ctx, j.at.User, right) })
		if err != nil {
			return err
		}
	}
	have, err := store.PlayRules(ctx, j.at.User)
	j.archived = archived{map[int64]int64{}, map[ruleName]int64{}, connections}
	for i, r := range all {
		at := slices.IndexFunc(have, r.Same)
		if at >= 0 && r.ID != 0 {
			j.archived.here[r.ID] = have[at].ID
		} else if at < 0 && begins && !j.at.Preview {
			why := words.New("import.row.rules", "Most", playrules.Most)
			if !r.Check().IsZero() {
				why = words.New("import.row.rule")
			}
			j.at.bad(words.New("import.row.at", "File", playrules.FileName, "Row", i+1, "Why", why))
		}
	}
	for _, r := range slices.Backward(have) { // the first of those with one name
		j.archived.by[ruleName{r.Kind, r.Name}] = r.ID
	}
	return err
}

// ourTable reads listens.csv.
func ourTable(m *meter, out yield) error {
	in := csv.NewReader(m)
	in.ReuseRecord = true
	heading := strings.Split(exports.Heading, ",")
	names, err := in.Read()
	if err != nil || !slices.Equal(names, heading) {
		if _, shape := errors.AsType[*csv.ParseError](err); err == nil || shape || errors.Is(err, io.EOF) {
			return errKind
		}
		return err
	}
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, shape := errors.AsType[*csv.ParseError](err); err != nil && !shape {
			return err
		}
		m.took()
		v := row{bad: words.New("import.row.few_columns")}
		if err == nil {
			v = ourRow(cells)
		}
		if !out(honest(v, m, func() bool { return true })) {
			return errStop
		}
	}
}

// ourRow parses a row of listens.csv.
func ourRow(cells []string) row {
	for i := range cells {
		cells[i] = strings.Clone(exports.Plain(cells[i]))
	}
	r := library.ListenRecord{PlayedAt: cells[0], Track: cells[1], Artist: cells[2], Album: cells[3], ISRC: &cells[5],
		RecordingMBID: &cells[6], Approximate: cells[7] == "true"}
	if cells[4] != "" {
		ms, err := strconv.ParseInt(cells[4], 10, 64)
		if err != nil || ms > int64(maxPlayed/time.Millisecond) {
			return row{bad: words.New("import.row.length")}
		}
		r.DurationMS = &ms
	}
	for source := range strings.SplitSeq(cells[8], "&") {
		conn, id, there := strings.Cut(source, "=")
		name, err := url.QueryUnescape(conn)
		text, errID := url.QueryUnescape(id)
		if err != nil || errID != nil || there != (source != "") {
			return row{bad: words.New("import.row.listen")}
		}
		if there {
			r.Sources = append(r.Sources, library.SourceRecord{Connection: library.ConnectionID(name), SourceID: text})
		}
	}
	return restored(r)
}
