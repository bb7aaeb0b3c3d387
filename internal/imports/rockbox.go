package imports

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// rockbox reads the .scrobbler.log of Rockbox and other portable players, see https://www.audioscrobbler.net/wiki/
// Portable_Player_Logging. Most players know no time zone.
var rockbox = format{
	what:     words.New("import.what.rockbox"),
	expected: words.New("import.expected.rockbox"),
	wants:    func(name string) bool { return ending(name, ".log") && !strings.Contains(name, "__MACOSX/") },
	is:       func(head string) bool { return strings.HasPrefix(head, "#AUDIOSCROBBLER/") },
	asks: func(head string) Question {
		if strings.Contains(head, "#TZ/UTC") {
			return NoQuestion
		}
		return AskTimeZone
	},
	read: func(m *meter, a Answers, out yield) error {
		where, player := a.zone(), ""
		return linesOf(m, func(line string) bool {
			if rest, ok := strings.CutPrefix(line, "#TZ/"); ok && strings.TrimSpace(rest) == "UTC" {
				where = time.UTC
			}
			if rest, ok := strings.CutPrefix(line, "#CLIENT/"); ok {
				rest, _, _ = strings.Cut(rest, " $") // the revision
				player = library.Player(strings.TrimSpace(rest))
			}
			if line == "" || strings.HasPrefix(line, "#") {
				return true
			}
			cells := strings.Split(line, "\t")
			if len(cells) < 7 || len(cells) > maxFields {
				return out(row{bad: words.New("import.row.few_columns")})
			}
			if cells[5] == "S" { // skipped
				return out(row{skip: true})
			}
			n, err := strconv.ParseInt(cells[6], 10, 64)
			if err != nil || n <= 0 {
				return out(row{bad: unreadTime(cells[6], likeUnix)})
			}
			// The number is the player's own clock, taken for UTC.
			clock := time.Unix(n, 0).UTC()
			year, month, day := clock.Date()
			at := time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), 0, where)
			seconds, _ := strconv.ParseFloat(cells[4], 64)
			t := library.Track{Artist: cells[0], Album: cells[1], Title: cells[2], Duration: lengthOf(seconds),
				RecordingMBID: cellOf(cells, 7)}
			return out(honest(play(library.Listen{Track: t, SourceID: exportID(clock, t.Artist, t.Title), PlayedAt: at,
				Player: player}), m, func() bool { return true }))
		})
	},
}

// linesOf calls each with every line, without its end, until it returns false. A line is as long as a row may be.
func linesOf(m *meter, each func(line string) bool) error {
	var line []byte
	for {
		part, err := m.r.ReadSlice('\n')
		m.used += int64(len(part))
		line = append(line, part...)
		if len(line) > maxRow {
			return errBudget
		}
		if err != nil && !bytes.HasSuffix(part, []byte("\n")) && len(part) == m.r.Size() { // a long line goes on
			continue
		}
		if len(line) > 0 {
			m.took()
			if !each(strings.TrimRight(string(line), "\r\n")) {
				return errStop
			}
		}
		line = line[:0]
		switch {
		case err == nil:
		case isEnd(err):
			return nil
		default:
			return err
		}
	}
}
