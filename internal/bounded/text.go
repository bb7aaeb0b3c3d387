package bounded

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// UTF8 returns a text in UTF-8 without a byte order mark: the text itself if it is that already, or else a converted
// copy, of at most three times the size. declared is the name of the encoding that the sender states, as in the charset
// of a Content-Type; empty without one.
//
// A byte order mark says more than the declaration, and valid UTF-8 more than both, because many servers declare what
// their framework's authors chose. Undeclared bytes that are consistently Windows-1252, of which Latin-1 is a part, are
// taken for that. What cannot be read without loss is an *Error.
func UTF8(text []byte, declared string) ([]byte, error) {
	if enc := utf16Of(text); enc != nil {
		return decoded(enc, text, "broken UTF-16")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	stated := encodingOf(declared)
	if utf8.Valid(text) && (stated == nil || !stateful(declared)) {
		return text, nil
	}
	if stated != nil {
		return decoded(stated, text, "text that is not in "+declared+" as declared")
	}
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if size > 1 {
			return nil, &Error{What: "text in a mixture of encodings"}
		}
		if r == utf8.RuneError && undefined(rest[0]) {
			return nil, &Error{What: "text in an unknown encoding"}
		}
		rest = rest[size:]
	}
	return decoded(charmap.Windows1252, text, "text in an unknown encoding")
}

// undefined reports whether no letter of Windows-1252 has this byte.
func undefined(b byte) bool { return b == 0x81 || b == 0x8d || b == 0x8f || b == 0x90 || b == 0x9d }

func decoded(enc encoding.Encoding, text []byte, problem string) ([]byte, error) {
	out, err := enc.NewDecoder().Bytes(text)
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return nil, &Error{What: problem}
	}
	return out, nil
}

// encodingOf returns the encoding of that name, nil for UTF-8 and for a name that nobody knows.
func encodingOf(name string) encoding.Encoding {
	if name == "" {
		return nil
	}
	enc, err := htmlindex.Get(name)
	if err != nil || enc == unicode.UTF8 {
		return nil
	}
	return enc
}

// stateful reports whether an encoding writes all letters with the bytes of ASCII, which is valid UTF-8.
func stateful(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return strings.HasPrefix(name, "iso-2022") || strings.HasPrefix(name, "csiso2022")
}

// utf16Of returns the encoding of a text in UTF-16, which has a byte order mark, or a zero in every other byte of its
// beginning; nil for other texts.
func utf16Of(text []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	case len(text) < 4:
		return nil
	case text[0] != 0 && text[1] == 0 && text[2] != 0 && text[3] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case text[0] == 0 && text[1] != 0 && text[2] == 0 && text[3] != 0:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}
