package settings

import (
	"strings"
	"unicode"

	"reprise/internal/config"
	"reprise/internal/words"
)

// Item is one setting with what holds now, for people to see.
type Item struct {
	config.Setting
	// Value is what holds, as it may be typed again. Of secrets it has the last four characters only: "…abcd", and
	// of a key with a project "home:…abcd".
	Value  string
	Source config.Source
	// Fixed says why it cannot be changed here; zero if it can.
	Fixed words.Text
	// Wrong is what is wrong with the value in the database, which is not used; zero if nothing is.
	Wrong words.Text
}

// Values returns the items of a list, and for other settings the value alone, if there is one.
func (i Item) Values() []string {
	if !i.List() {
		if i.Value == "" {
			return nil
		}
		return []string{i.Value}
	}
	return items(i.Setting, i.Value)
}

// All returns all settings in the order of the sample file.
func (s *Settings) All() []Item {
	now := s.now.Load()
	wrong := map[string]words.Text{}
	for _, f := range now.result.Faults {
		for _, path := range f.Paths {
			wrong[path] = f.Text
		}
	}
	var all []Item
	for _, d := range config.All(s.opt.Known) {
		v := now.result.Values[d.Path]
		all = append(all, Item{Setting: d, Value: masked(d, v.Text), Source: v.Source, Fixed: s.fixed(d),
			Wrong: wrong[d.Path]})
	}
	return all
}

// Of returns the settings of a provider, in their order.
func (s *Settings) Of(provider string) (all []Item) {
	for _, i := range s.All() {
		if i.Provider == provider {
			all = append(all, i)
		}
	}
	return all
}

// One returns one setting, and false if there is none of that path.
func (s *Settings) One(path string) (Item, bool) {
	for _, i := range s.All() {
		if i.Path == path {
			return i, true
		}
	}
	return Item{}, false
}

// fixed returns why a setting cannot be changed here; zero if it can.
func (s *Settings) fixed(d config.Setting) words.Text {
	v, given := s.opt.Layers.Given(d.Path)
	switch {
	case given && v.Source == config.FromEnvironment:
		return words.New("settings.fixed.environment", "Name", v.From)
	case given && v.Source == config.FromFile:
		return words.New("settings.fixed.file", "Name", v.From)
	case given:
		return words.New("settings.fixed.command_line")
	case d.Restart():
		return words.New("settings.fixed.restart")
	}
	return words.Text{}
}

// mask is shown before the last four characters of a secret.
const mask = "…"

// masked returns a text as people may see it.
func masked(d config.Setting, text string) string {
	if !d.Secret() || text == "" {
		return text
	}
	if d.Kind == config.Secret {
		return lastFour(text)
	}
	all := items(d, text)
	for i, one := range all {
		if d.Provider == "" {
			all[i] = lastFour(one)
			continue
		}
		project, key, ok := strings.Cut(one, ":")
		if !ok {
			all[i] = lastFour(one)
			continue
		}
		all[i] = project + ":" + lastFour(key)
	}
	return strings.Join(all, ", ")
}

// lastFour masks a secret; of one so short that this would reveal it, it shows nothing.
func lastFour(secret string) string {
	secret = strings.TrimSpace(secret)
	if len(secret) < 8 {
		return mask
	}
	return mask + secret[len(secret)-4:]
}

// items splits the text of a list.
func items(d config.Setting, text string) []string {
	if d.Path == "notify.urls" {
		return config.SplitURLs(text)
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// unmasked returns the text that a change asks for: what is typed, without space around it and on one line, and with
// the stored secret in the place of each masked one.
func unmasked(d config.Setting, typed *string, stored string) (string, error) {
	if typed == nil {
		return "", nil
	}
	text := strings.TrimSpace(*typed)
	if !d.List() {
		if d.Secret() && strings.HasPrefix(text, mask) {
			if text != masked(d, stored) {
				return "", words.Errorf("settings.wrong.mask", "Value", text)
			}
			return stored, nil
		}
		return text, nil
	}
	all, known := items(d, text), items(d, stored)
	for i, one := range all {
		if !d.Secret() || !strings.Contains(one, mask) {
			continue
		}
		found := ""
		for _, k := range known {
			if masked(d, k) == one {
				found = k
			}
		}
		if found == "" {
			return "", words.Errorf("settings.wrong.mask", "Value", one)
		}
		all[i] = found
	}
	return strings.Join(all, ","), nil
}
