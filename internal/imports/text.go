package imports

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// window is the size of the text by which its encoding is recognised, in bytes.
const window = 64 << 10

// errLetters says that a text is in an encoding that is not known.
var errLetters = errors.New("unknown encoding")

// text reads UTF-8 from a text in UTF-8, UTF-16 or Windows-1252, which contains Latin-1. A byte order mark or the zeros
// of UTF-16 tell the encoding at once, and otherwise the first letters that are not ASCII, wherever they come. In text
// that is UTF-8 on the whole, invalid bytes stay as they are. In a converted text they become U+FFFD.
type text struct {
	r         io.Reader
	begun     bool
	decided   bool // what r reads is final
	converted bool
}

// Read implements io.Reader. It returns errLetters for text in another encoding.
func (t *text) Read(p []byte) (int, error) {
	if !t.begun {
		t.begun = true
		if err := t.begin(); err != nil {
			t.decided, t.r = true, failed{err}
		}
	}
	n, err := t.r.Read(p)
	if t.decided {
		return n, err
	}
	at := bytes.IndexFunc(p[:n], func(r rune) bool { return r >= utf8.RuneSelf })
	if at < 0 {
		return n, err
	}
	if err := t.decide(p[at:n]); err != nil {
		return at, err
	}
	return at, nil
}

// begin looks at the first bytes, which tell UTF-16, and UTF-8 with a mark.
func (t *text) begin() error {
	head := make([]byte, 64)
	n, err := io.ReadFull(t.r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head = head[:n]
	mark := func(m string) bool { return bytes.HasPrefix(head, []byte(m)) }
	zeros := [2]int{} // at even and at odd offsets
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	if zeros[0]+zeros[1] > len(head)/2 {
		return errLetters // UTF-32, or no text
	}
	end := unicode.LittleEndian
	switch {
	case mark("\xef\xbb\xbf"):
		head, t.decided = head[3:], true
	case mark("\xff\xfe"):
		head, t.converted = head[2:], true
	case mark("\xfe\xff"):
		head, t.converted, end = head[2:], true, unicode.BigEndian
	case zeros[1] > len(head)/4 && zeros[0] == 0:
		t.converted = true
	case zeros[0] > len(head)/4 && zeros[1] == 0:
		t.converted, end = true, unicode.BigEndian
	}
	t.r = io.MultiReader(bytes.NewReader(head), t.r)
	if t.converted {
		t.decided = true
		t.r = transform.NewReader(t.r, unicode.UTF16(end, unicode.IgnoreBOM).NewDecoder())
	}
	return nil
}

// decide looks at the text from its first letter that is not ASCII.
func (t *text) decide(begin []byte) error {
	ahead := make([]byte, max(window, len(begin)))
	n := copy(ahead, begin)
	more, err := io.ReadFull(t.r, ahead[n:])
	ahead = ahead[:n+more]
	var rest io.Reader = bytes.NewReader(ahead)
	switch {
	case err == nil:
		rest = io.MultiReader(rest, t.r)
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		rest = io.MultiReader(rest, failed{err})
	}
	t.decided, t.r = true, rest
	if mostlyUTF8(ahead) {
		return nil
	}
	if !western(ahead) {
		t.r = failed{errLetters}
		return errLetters
	}
	t.converted, t.r = true, transform.NewReader(rest, charmap.Windows1252.NewDecoder())
	return nil
}

// failed is a reader that fails.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// mostlyUTF8 reports whether a text has more letters in UTF-8 than invalid bytes.
func mostlyUTF8(b []byte) bool {
	valid, invalid := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case n > 1:
			valid++
		case r == utf8.RuneError && utf8.FullRune(b): // otherwise the window ends within a letter
			invalid++
		}
		b = b[n:]
	}
	return valid >= invalid
}

// unlikely has the bytes that Windows-1252 does not define, or that names hardly have.
const unlikely = "\x81\x82\x83\x84\x86\x87\x88\x89\x8b\x8d\x8f\x90\x98\x9b\x9d"

// western reports whether a text can be Windows-1252. In the encodings of other scripts, such as Cyrillic or Japanese,
// words consist of letters above ASCII, while those of Western Europe have one or two of them.
func western(b []byte) bool {
	high, odd, run, words := 0, 0, 0, 0
	for _, c := range b {
		if c < utf8.RuneSelf {
			run = 0
			continue
		}
		high++
		if run++; run == 4 {
			words++
		}
		if bytes.IndexByte([]byte(unlikely), c) >= 0 {
			odd++
		}
	}
	return words*20 <= high && odd*10 <= high+10
}
