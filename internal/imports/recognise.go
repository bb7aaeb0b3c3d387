package imports

import (
	"errors"
	"io"
	"strings"

	"reprise/internal/library"
	"reprise/internal/words"
)

// order is that in which formats are asked whether a file is one of theirs: one that is sure comes before one that
// takes much.
var order = []library.ConnectionID{Reprise, "spotify", "koito", "maloja", "youtube", "multiscrobbler", "listenbrainz",
	"applemusic", "tidal", "deezer", "rockbox", "lastfm", library.File}

// shown is the order in which people see what can be imported.
var shown = []library.ConnectionID{"spotify", "lastfm", "listenbrainz", "koito", "maloja", "youtube", "applemusic",
	"deezer", "tidal", "rockbox", "multiscrobbler", Reprise, library.File}

const (
	headBytes = 16 << 10 // of a file, by which it is recognised
	mostHeads = 20       // files of an archive that are looked at for one format
)

// recognised is what a file turned out to be.
type recognised struct {
	as       library.ConnectionID
	question Question
	sample   Sample // of a table that a person may have to explain; nil for others
	days     string // how its dates are written, if they show it
}

// recognise finds out by its content what a file is. It returns a *RefusedError for one that nobody knows.
func recognise(sent File, name string) (found recognised, err error) {
	html := false
	for _, as := range order {
		f := formats[as.Provider()]
		e, err := listed(sent, name, f)
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			if !refused.empty {
				return found, err
			}
			continue
		}
		if err != nil {
			return found, err
		}
		head, err := e.headOf(f, &html)
		if err != nil {
			return found, err
		}
		if head == "" {
			continue
		}
		found.as = as
		if f.asks != nil {
			found.question = f.asks(head)
		}
		if as == library.File {
			found.sample, found.days = sampleOf(head), daysOf(head)
		}
		return found, nil
	}
	if html {
		return found, &RefusedError{Problem: words.New("import.refused.html")}
	}
	return found, &RefusedError{Problem: words.New("import.refused.unknown")}
}

// headOf returns the beginning of the first entry that is one of the format's; empty for none. html becomes true when
// one of them is a web page.
func (e *export) headOf(f format, html *bool) (string, error) {
	for i := range e.entries[:min(len(e.entries), mostHeads)] {
		in, err := e.entries[i].open()
		if err != nil {
			return "", nil // it is damaged, which the check says better
		}
		head := make([]byte, headBytes)
		n, err := io.ReadFull(&text{r: in}, head)
		if err = errors.Join(ignoreEnd(err), in.Close()); err != nil && !errors.Is(err, errLetters) {
			continue
		}
		text := strings.TrimLeft(strings.TrimPrefix(strings.ToValidUTF8(string(head[:n]), ""), "\ufeff"), " \t\r\n")
		*html = *html || strings.HasPrefix(text, "<")
		if text != "" && f.is(text) {
			return text, nil
		}
	}
	return "", nil
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func ignoreEnd(err error) error {
	if isEnd(err) {
		return nil
	}
	return err
}

func firstLine(head string) string {
	line, _, _ := strings.Cut(head, "\n")
	return line
}

func isJSON(name string) bool { return ending(name, ".json", ".jsonl") && !hidden(name) }
