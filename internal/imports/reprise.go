package imports

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	exports "reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/words"
)

// Reprise is the name under which exports of Reprise itself are imported. It is no provider: the listens name the
// connections that reported them.
const Reprise = "reprise"

// corrections is the file of an archive with what its person has corrected there. The listens have it already.
const corrections = "corrections.jsonl"

// ours reads the exports of Reprise: the archive with everything, its listens.jsonl, the months of an archive at a
// connection, and listens.csv.
var ours = format{
	expected: words.New("import.expected.reprise"),
	wants: func(name string) bool {
		return ending(name, ".jsonl") && !hidden(name) && path.Base(name) != corrections ||
			strings.EqualFold(path.Base(name), exports.CSV.Name)
	},
	read: func(m *meter, out yield) error {
		c, err := m.begins()
		switch {
		case err != nil || c == 0:
			return cmp.Or(err, errKind)
		case c == '{':
			sh := shape{lines: true, bad: words.New("import.row.listen")}
			return jsonRows(m, sh, func(r *library.ListenRecord) row { return restored(*r) }, few(out))
		}
		return ourTable(m, few(out))
	},
}

// mostNamed is how many connections the listens of one file may name. Each is stored for good.
const mostNamed = 100

// few lets no rows through that name more connections than a household has.
func few(out yield) yield {
	named := map[library.ConnectionID]bool{}
	return func(v row) bool {
		for _, s := range v.sources {
			if !named[s.Connection] && len(named) == mostNamed {
				return out(row{bad: words.New("import.row.listen")})
			}
			named[s.Connection] = true
		}
		return out(v)
	}
}

// provider is the form of a provider's name.
var provider = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// mostSources is how many sources of a listen are taken.
const mostSources = 50

// restored returns the row of a listen that was exported. One without sources gets one that stays the same for the same
// listen, so that it is stored once.
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
			strconv.FormatInt(l.PlayedAt.UnixMilli(), 10) + ":" + library.NameHash(l.Artist, l.Title)}}
	}
	for i, s := range l.Sources {
		if s.SourceID == "" || s.Later.Abs() > maxPlayed || !provider.MatchString(s.Connection.Provider()) {
			return row{bad: words.New("import.row.listen")}
		}
		l.Sources[i].SourceID = library.ID(s.SourceID)
	}
	v := play(l.Listen)
	v.sources = l.Sources
	return v
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

// ourRow returns the row of a listen in listens.csv.
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
