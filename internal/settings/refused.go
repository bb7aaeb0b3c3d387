package settings

import (
	"maps"
	"slices"
	"strings"

	"reprise/internal/config"
	"reprise/internal/words"
)

// Problems are sentences about settings, by path.
type Problems map[string]words.Text

// Refused says why a change was refused.
type Refused struct {
	Fields Problems
	Fixed  bool // all of them are settings that cannot be changed here
	loose  bool // one of them is not
}

// Error lists the problems in English.
func (r *Refused) Error() string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(r.Fields)) {
		all = append(all, path+": "+r.Fields[path].String())
	}
	return strings.Join(all, "\n")
}

func (r *Refused) any() bool { return len(r.Fields) > 0 }

func (r *Refused) put(path string, t words.Text) {
	r.loose, r.Fixed = true, false
	if _, there := r.Fields[path]; !there {
		r.Fields[path] = t
	}
}

func (r *Refused) fixed(path string, t words.Text) {
	r.Fields[path], r.Fixed = t, !r.loose
}

func (r *Refused) add(path string, err error) {
	if e, ok := err.(*words.Error); ok {
		r.put(path, e.Text)
		return
	}
	r.put(path, words.Plain(err.Error()))
}

func (r *Refused) unknown(path string, known []string) {
	if near := words.Nearest(path, known); near != "" {
		r.put(path, words.New("settings.wrong.unknown_near", "Path", path, "Near", near))
		return
	}
	r.put(path, words.New("settings.wrong.unknown", "Path", path))
}

// fault puts a fault beside each setting that it is about.
func (r *Refused) fault(f config.Fault) {
	for _, path := range f.Paths {
		r.put(path, f.Text)
	}
}
