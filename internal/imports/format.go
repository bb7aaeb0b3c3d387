package imports

import (
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reprise/internal/library"
	"reprise/internal/words"
)

// format reads the exports of one provider, or of a program that is none.
type format struct {
	what     words.Text             // what such a file is, for a person
	expected words.Text             // which file to choose, for a person
	wants    func(name string) bool // reports whether a file in an archive has listens
	is       func(head string) bool // reports whether the beginning of a file is that of such a file
	asks     func(head string) Question
	read     func(*meter, Answers, yield) error
}

// row is one row of an export: a listen, or the reason why there is none.
type row struct {
	listen library.Listen
	// sources are all sources of the listen, stored instead of its SourceID; nil except in exports of Reprise.
	sources []library.Source
	ruled   *library.Ruled // by the person's rules, in exports of Reprise
	skip    bool           // the row is not a listen
	bad     words.Text     // why the row cannot be read, as the end of a sentence
	n       int            // its number as a spreadsheet shows it; 0 where rows are numbered as they come
	lost    bool           // a name had U+FFFD, the mark of lost letters
}

// yield takes the next row, and returns whether to go on.
type yield func(row) bool

// formats are the formats by the provider that wrote the file, or by the name that replaces one (see library.Programs).
var formats = map[string]format{"spotify": spotify, "lastfm": lastFM, "listenbrainz": listenBrainz, Reprise: ours,
	"koito": koito, "maloja": maloja, "youtube": youTube, "multiscrobbler": multiScrobbler, "applemusic": appleMusic,
	"tidal": tidal, "deezer": deezer, "rockbox": rockbox, string(library.File): anyTable}

// Reads reports whether exports of a provider can be imported.
func Reads(provider string) bool { return formats[provider].read != nil }

// Expected says which file of a provider to choose, for a person; empty when none can be imported.
func Expected(provider string) words.Text { return formats[provider].expected }

// What says what a file of a provider is, for a person.
func What(provider string) words.Text { return formats[provider].what }

// All returns what Reads is true for, in the order in which people see it: the services first, and tables at the end.
func All() []library.ConnectionID { return shown }

// errKind says that a file is no export of its provider.
var errKind = errors.New("another kind of file")

// minPlayed is how long a track must be played to count as a listen, as at Last.fm and ListenBrainz.
const minPlayed = 30 * time.Second

// maxID is the size limit of an id, in bytes: that of all providers' ids.
const maxID = 300

// maxPlayed is how long one play may take.
const maxPlayed = 24 * time.Hour

// play returns the row of a listen, bounded as those of every provider are, or a bad row if it is impossible.
func play(l library.Listen) row {
	lost := false
	for _, name := range []string{l.Title, l.Artist, l.Album} {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return row{bad: unreadable}
		}
		lost = lost || strings.ContainsRune(name, utf8.RuneError)
	}
	switch {
	case len(l.SourceID) > maxID:
		return row{bad: words.New("import.row.long_id")}
	case l.Duration < 0 || l.Duration > maxPlayed:
		return row{bad: words.New("import.row.length")}
	case !l.Clean(time.Now()):
		return row{bad: words.New("import.row.time")}
	case l.Title == "" || l.Artist == "":
		return row{bad: words.New("import.row.no_names")}
	}
	l.PlayedAt = l.PlayedAt.UTC().Truncate(time.Millisecond)
	return row{listen: l, lost: lost}
}

// errStop says that yield wants no more rows.
var errStop = errors.New("stopped")

// inWords says why an entry cannot be read to its end, for a person.
func inWords(err error) words.Text {
	switch {
	case errors.Is(err, errBudget):
		return words.New("import.why.long")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return words.New("import.why.ends")
	case errors.Is(err, errKind):
		return words.New("import.why.kind")
	case errors.Is(err, errLetters):
		return words.New("import.why.letters")
	}
	if e, ok := errors.AsType[*errSyntax](err); ok {
		return words.New("import.row.json", "Byte", e.offset)
	}
	return words.New("import.why.rest")
}

// What times look like, for a person whose file has others.
const (
	likeSeconds = "2026-11-28 20:15:00"
	likeMinutes = "2026-11-28 20:15"
	likeRFC     = "2026-11-28T20:15:00Z"
	likeUnix    = "1795896900"
	likeGoogle  = "Nov 28, 2026, 8:15:00 PM UTC"
)

// unreadTime says that a text is not a time, and gives an example of one.
func unreadTime(text, like string) words.Text {
	if text == "" {
		return words.New("import.row.no_time")
	}
	return words.New("import.row.unread_time", "Text", clipped(text), "Like", like)
}

// clipped returns the beginning of a cell.
func clipped(text string) string {
	if letters := []rune(text); len(letters) > sampleCell {
		return string(letters[:sampleCell-1]) + "…"
	}
	return text
}

// ending reports whether a file's name has one of the endings, in any case.
func ending(name string, endings ...string) bool {
	return slices.Contains(endings, strings.ToLower(path.Ext(name)))
}

// hidden reports whether a file in an archive was added by an operating system.
func hidden(name string) bool {
	return strings.HasPrefix(path.Base(name), ".") || strings.Contains(name, "__MACOSX/")
}

// exportID returns the SourceID of a play that its service gives none.
func exportID(at time.Time, artist, title string) string {
	return library.FromExport + "plays:" + strconv.FormatInt(at.Unix(), 10) + ":" + library.NameHash(artist, title)
}

// isTable returns a wants of tables whose names contain one of these words.
func isTable(parts ...string) func(string) bool {
	return func(name string) bool {
		base := strings.ToLower(path.Base(name))
		for _, part := range parts {
			if strings.Contains(base, part) && ending(name, ".csv") && !hidden(name) {
				return true
			}
		}
		return false
	}
}

// lengthOf returns a track's length; zero for an impossible one.
func lengthOf(seconds float64) time.Duration {
	if seconds <= 0 || seconds > maxPlayed.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Millisecond)
}
