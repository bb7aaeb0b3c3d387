package imports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reprise/internal/library"
)

// format reads the exports of one provider.
type format struct {
	expected string                 // which file to choose, for a person
	wants    func(name string) bool // reports whether a file in an archive has listens
	read     func(*meter, yield) error
}

// row is one row of an export: a listen, or the reason why there is none.
type row struct {
	listen library.Listen
	skip   bool   // the row is no listen
	bad    string // why the row cannot be read
}

// yield takes the next row, and returns whether to go on.
type yield func(row) bool

// formats has the formats by provider.
var formats = map[string]format{"spotify": spotify, "lastfm": lastFM, "listenbrainz": listenBrainz}

// Reads reports whether exports of a provider can be imported.
func Reads(provider string) bool { return formats[provider].read != nil }

// Expected says which file of a provider to choose, for a person; empty when none can be imported.
func Expected(provider string) string { return formats[provider].expected }

// errKind says that a file is no export of its provider.
var errKind = errors.New("another kind of file")

// minPlayed is how long a track must be played to count as a listen, as at Last.fm and ListenBrainz.
const minPlayed = 30 * time.Second

// maxName is the size limit of a name, in bytes.
const maxName = 2000

// play returns the row of a listen, or a bad row if it is impossible.
func play(l library.Listen) row {
	switch {
	case l.Title == "" || l.Artist == "":
		return row{bad: "no track or no artist"}
	case len(l.Title) > maxName || len(l.Artist) > maxName || len(l.Album) > maxName:
		return row{bad: "a name that is too long"}
	case l.PlayedAt.Year() < 2000 || l.PlayedAt.After(time.Now().Add(24*time.Hour)):
		return row{bad: "played at an impossible time"}
	}
	for _, name := range []*string{&l.Title, &l.Artist, &l.Album} {
		if !utf8.ValidString(*name) {
			*name = strings.ToValidUTF8(*name, "\uFFFD")
		}
	}
	l.PlayedAt = l.PlayedAt.UTC().Truncate(time.Millisecond)
	return row{listen: l}
}

// elements reads a JSON list, one value at a time.
func elements[T any](m *meter, dec *json.Decoder, each func(*T, error) bool) error {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return errors.Join(errKind, err)
	}
	for dec.More() {
		var v T
		err := dec.Decode(&v)
		if _, shape := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !shape {
			return err
		}
		m.took()
		if !each(&v, err) {
			return errStop
		}
	}
	_, err := dec.Token()
	return err
}

// lines reads JSON values, one per line.
func lines[T any](m *meter, each func(*T, error) bool) error {
	in := bufio.NewScanner(m)
	in.Buffer(make([]byte, 64<<10), maxRow)
	for in.Scan() {
		m.took()
		if len(strings.TrimSpace(in.Text())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); !each(&v, err) {
			return errStop
		}
	}
	return in.Err()
}

// errStop says that yield wants no more rows.
var errStop = errors.New("stopped")

// inWords says why an entry cannot be read to its end, for a person.
func inWords(err error) string {
	switch {
	case errors.Is(err, errBudget), errors.Is(err, bufio.ErrTooLong):
		return "what follows is too long for a row"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the file ends in the middle of a row"
	case errors.Is(err, errKind):
		return "it is another kind of file"
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("it is no JSON from byte %d on", e.Offset)
	}
	return "the rest cannot be unpacked"
}

// ending reports whether a file's name has one of the endings, in any case.
func ending(name string, endings ...string) bool {
	return slices.Contains(endings, strings.ToLower(path.Ext(name)))
}

// hidden reports whether a file in an archive was added by an operating system.
func hidden(name string) bool {
	return strings.HasPrefix(path.Base(name), ".") || strings.Contains(name, "__MACOSX/")
}
