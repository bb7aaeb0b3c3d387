package words

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Text is a sentence whose reader is not known yet. The zero Text is empty. Texts are comparable: equal ones say the
// same.
type Text struct {
	id   string // of the catalogue; empty for a plain text
	args string // JSON of the arguments; the text itself of a plain one
}

// Day is an argument that is shown as a date.
type Day time.Time

// New returns the sentence with this id. pairs are names and values of its arguments. It panics on a value of a type
// that it does not know, which is a mistake in the program.
func New(id string, pairs ...any) Text {
	if len(pairs) == 0 {
		return Text{id: id}
	}
	b, err := json.Marshal(arguments(pairs))
	if err != nil {
		panic(fmt.Sprintf("words: arguments of %s: %v", id, err))
	}
	return Text{id: id, args: string(b)}
}

// Each is [New] for one of several sentences whose ids begin with a constant prefix.
func Each(prefix, name string, pairs ...any) Text { return New(prefix+name, pairs...) }

// Plain returns a text that is in no catalogue: a name, or what a service said.
func Plain(s string) Text { return Text{args: s} }

// Of returns the words for a cause: a text as it is, and any other value the text of the catalogue that has its name.
// There are none for nil.
func Of(cause interface{ String() string }) Text {
	switch c := cause.(type) {
	case nil:
		return Text{}
	case Text:
		return c
	}
	return New(cause.String())
}

// Join returns sentences one after another, without those that are empty.
func Join(all ...Text) Text {
	var kept []Text
	for _, t := range all {
		if !t.IsZero() {
			kept = append(kept, t)
		}
	}
	switch len(kept) {
	case 0:
		return Text{}
	case 1:
		return kept[0]
	}
	pairs := make([]any, 0, 2*len(kept))
	for i, t := range kept {
		pairs = append(pairs, fmt.Sprintf("%02d", i), t)
	}
	return New(joined, pairs...)
}

// joined is the id of several sentences, one after another.
const joined = "+"

// T returns a sentence in the language of a context.
func T(ctx context.Context, id string, pairs ...any) string {
	l := From(ctx)
	return l.sentence(id, l.resolve(arguments(pairs)))
}

// IsZero says whether the text is empty.
func (t Text) IsZero() bool { return t == Text{} }

// Arg returns an argument of a sentence that is a text; empty for none.
func (t Text) Arg(name string) string {
	var args map[string]any
	if t.id == "" || json.Unmarshal([]byte(t.args), &args) != nil {
		return ""
	}
	value, _ := args[name].(string)
	return value
}

// ID returns the id of a sentence; empty for a plain text.
func (t Text) ID() string { return t.id }

// T returns the text in the language of a context.
func (t Text) T(ctx context.Context) string { return t.In(From(ctx)) }

// String returns the text in English, for logs and for programs.
func (t Text) String() string { return t.In(English) }

// In returns the text in a language. Times in it are RFC 3339 stamps in UTC.
func (t Text) In(l *Language) string {
	if t.id == "" {
		return t.args
	}
	args := map[string]any{}
	if t.args != "" {
		d := json.NewDecoder(strings.NewReader(t.args))
		d.UseNumber()
		if d.Decode(&args) != nil { // never: New wrote it
			return t.id
		}
	}
	return l.told(t.id, args)
}

// told returns the sentence, or the sentences, with this id.
func (l *Language) told(id string, args map[string]any) string {
	args = l.resolve(args)
	if id != joined {
		return l.sentence(id, args)
	}
	all := make([]string, 0, len(args))
	for i := range len(args) {
		all = append(all, fmt.Sprint(args[fmt.Sprintf("%02d", i)]))
	}
	return strings.Join(all, " ")
}

// stored is a sentence as JSON.
type stored struct {
	ID   string          `json:"id"`
	Args json.RawMessage `json:"args,omitempty"`
}

// dated is a [Day] as JSON.
type dated struct {
	Day string `json:"day"`
}

// arguments returns names and values as a map of what JSON can hold.
func arguments(pairs []any) map[string]any {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = argument(pairs[i+1])
	}
	return m
}

func argument(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Truncate(time.Second).Format(time.RFC3339)
	case Day:
		return dated{Day: time.Time(v).Format(time.DateOnly)}
	case string, int, int64, float64, Text:
		return v
	case fmt.Stringer:
		return v.String()
	}
	panic(fmt.Sprintf("words: an argument of type %T", v))
}

// resolve puts arguments into the language: nested texts, dates and numbers. Count stays a number.
func (l *Language) resolve(args map[string]any) map[string]any {
	for name, v := range args {
		switch v := v.(type) {
		case Text:
			args[name] = v.In(l)
		case string: // a name that a stranger may have chosen
			args[name] = Isolate(v)
		case dated:
			args[name] = l.day(v.Day)
		case int, int64:
			if name != "Count" {
				args[name] = l.Number(v)
			}
		case json.Number:
			if n, err := v.Int64(); err == nil {
				args[name] = n
				if name != "Count" {
					args[name] = l.Number(n)
				}
			}
		case map[string]any: // from JSON
			args[name] = l.nested(v)
		}
	}
	return args
}

func (l *Language) nested(v map[string]any) string {
	if day, ok := v["day"].(string); ok {
		return l.day(day)
	}
	id, _ := v["id"].(string)
	args, _ := v["args"].(map[string]any)
	return l.told(id, args)
}

func (l *Language) day(text string) string {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	return l.Day(t)
}

// MarshalJSON writes a sentence as its id and arguments, and a plain text as a string.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.id == "" {
		return json.Marshal(t.args)
	}
	return json.Marshal(stored{ID: t.id, Args: json.RawMessage(t.args)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Text) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); bytes.HasPrefix(b, []byte(`"`)) {
		*t = Text{}
		return json.Unmarshal(b, &t.args)
	}
	var s stored
	err := json.Unmarshal(b, &s)
	*t = Text{id: s.ID, args: string(s.Args)}
	return err
}

// Value stores a sentence as JSON, and a plain text as it is.
func (t Text) Value() (driver.Value, error) {
	if t.id == "" {
		return t.args, nil
	}
	b, err := t.MarshalJSON()
	return string(b), err
}

// Scan reads what Value stored. What is no sentence, such as a row of an earlier version, is a plain text.
func (t *Text) Scan(v any) error {
	var s string
	switch v := v.(type) {
	case nil:
	case string:
		s = v
	case []byte:
		s = string(v)
	default:
		return fmt.Errorf("a text is stored as a string, not as %T", v)
	}
	if strings.HasPrefix(s, `{"id":`) && t.UnmarshalJSON([]byte(s)) == nil {
		return nil
	}
	*t = Plain(s)
	return nil
}

// Took returns a length of time as people say it: in whole minutes, hours or days.
func Took(d time.Duration) Text {
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch {
	case d < time.Minute:
		return New("date.took.moment")
	case minutes < 60:
		return New("date.took.minutes", "Count", minutes)
	case minutes < 48*60:
		return New("date.took.hours", "Count", minutes/60)
	}
	return New("date.took.days", "Count", minutes/(24*60))
}

// Error is an error that a person reads.
type Error struct{ Text Text }

// Errorf returns an error with the sentence of this id.
func Errorf(id string, pairs ...any) error { return &Error{Text: New(id, pairs...)} }

// Error returns the sentence in English.
func (e *Error) Error() string { return e.Text.String() }
