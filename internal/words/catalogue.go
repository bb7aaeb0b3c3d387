package words

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// files has a folder for each language: many files in those of English and German, and one in those of the others.
//
//go:embed */*.toml
var files embed.FS

// sentences has the sentences of a language by their ids.
type sentences map[string]forms

// forms are a sentence with placeholders such as {{.Name}}, by its plural forms. One that counts nothing has the form
// for all other numbers alone.
type forms [plural.Many + 1]string

// load reads the catalogue of a language. It panics if a file is malformed, which a test excludes.
func load(tag language.Tag) sentences {
	all := sentences{}
	paths, err := fs.Glob(files, tag.String()+"/*.toml")
	for _, path := range paths {
		var b []byte
		var f *i18n.MessageFile
		if b, err = files.ReadFile(path); err == nil {
			f, err = i18n.ParseMessageFileBytes(b, tag.String()+".toml",
				map[string]i18n.UnmarshalFunc{"toml": toml.Unmarshal})
		}
		if err != nil {
			err = fmt.Errorf("read %s: %w", path, err)
			break
		}
		for _, m := range f.Messages {
			all[m.ID] = forms{plural.Zero: m.Zero, plural.One: m.One, plural.Two: m.Two, plural.Few: m.Few,
				plural.Many: m.Many, plural.Other: m.Other}
		}
	}
	if err != nil {
		panic(err)
	}
	return all
}

// fill puts arguments into a form of the message. The templates of the standard library would do, but a program that
// has them cannot leave out any method of its types, which makes it larger by a sixth.
func fill(form string, args map[string]any) string {
	before, rest, more := strings.Cut(form, "{{.")
	if !more {
		return form
	}
	var b strings.Builder
	for more {
		b.WriteString(before)
		var name string
		name, rest, _ = strings.Cut(rest, "}}")
		switch v := args[name].(type) {
		case string:
			b.WriteString(v)
		default:
			fmt.Fprint(&b, v)
		}
		before, rest, more = strings.Cut(rest, "{{.")
	}
	b.WriteString(before)
	return b.String()
}

// form returns the plural form that a whole number takes in the language. Their rules look at its last digits only.
func (l *Language) form(n any) plural.Form {
	const most = 1_000_000
	i := 0
	switch n := n.(type) {
	case int:
		i = n
	case int64:
		i = int(n)
	default:
		return plural.Other
	}
	if i >= most {
		i = most + i%most
	}
	return plural.Cardinal.MatchPlural(l.tag, i, 0, 0, 0, 0)
}
