package words

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

//go:embed en de
var files embed.FS

// sentences has the sentences of a language by their ids.
type sentences map[string]forms

// forms are a sentence with placeholders such as {{.Name}}. English and German have two forms: for one, which is empty
// where nothing is counted, and for all other numbers.
type forms struct{ one, other string }

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
			all[m.ID] = forms{m.One, m.Other}
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

// isOne reports whether a number takes the form for one.
func isOne(n any) bool {
	switch n := n.(type) {
	case int:
		return n == 1
	case int64:
		return n == 1
	}
	return false
}
