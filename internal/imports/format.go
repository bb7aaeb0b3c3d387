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

// format is how a provider's export is read.
type format struct {
	expected string                 // what to choose instead, in words
	wants    func(name string) bool // whether an archive's entry has listens
	read     func(*meter, yield) error
}

// row is one row of an export: a play, or why it is none.
type row struct {
	listen library.Listen
	skip   bool // it is no listen
	bad    string
}

// yield takes the next row, and says whether to go on.
type yield func(row) bool

// formats are the exports that can be read, by provider.
var formats = map[string]format{"spotify": spotify, "lastfm": lastFM, "listenbrainz": listenBrainz}

// Reads says whether exports of a provider can be imported.
func Reads(provider string) bool { return formats[provider].read != nil }

// Expected says what file of a provider's is to be chosen; empty when none can be.
func Expected(provider string) string { return formats[provider].expected }

// errKind says that a file is of another kind than expected.
var errKind = errors.New("another kind of file")

// shortest is how long a track has to be played to count as a listen, as in this whole field.
const shortest = 30 * time.Second

// longestName bounds the names of tracks.
const longestName = 2000

// play makes a row of a play, unless it cannot be one.
func play(l library.Listen) row {
	switch {
	case l.Title == "" || l.Artist == "":
		return row{bad: "no track or no artist"}
	case len(l.Title) > longestName || len(l.Artist) > longestName || len(l.Album) > longestName:
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

// elements reads a list of JSON values from where the decoder stands, one at a time.
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

// lines reads JSON values, one on each line.
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

// errStop says that whoever takes the rows wants no more.
var errStop = errors.New("stopped")

// inWords says why an entry cannot be read any further.
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

// ending says whether a file's name ends so, whatever its case.
func ending(name string, endings ...string) bool {
	return slices.Contains(endings, strings.ToLower(path.Ext(name)))
}

// hidden says whether an entry of an archive is one that a computer added, and not a person or a service.
func hidden(name string) bool {
	return strings.HasPrefix(path.Base(name), ".") || strings.Contains(name, "__MACOSX/")
}
