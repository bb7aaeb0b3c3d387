package words

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Language is one that the catalogue is written in.
type Language struct {
	tag  language.Tag
	load func() sentences // read when it is first needed
	// numbers formats them with the separators of the language.
	numbers *message.Printer
}

// English is the default, and what another language says where it lacks a sentence. German is kept with it, so it lacks
// none. The other languages are contributed.
var (
	English = newLanguage("en")
	German  = newLanguage("de")

	all     = append([]*Language{English, German}, contributed()...)
	matcher = language.NewMatcher(tags(all))
)

// contributed finds the other languages: each folder of the catalogue is named after the code of one.
func contributed() (found []*Language) {
	folders, err := fs.ReadDir(files, ".")
	if err != nil { // never: the files are part of the program
		panic(err)
	}
	for _, folder := range folders { // in the order of their names
		if code := folder.Name(); code != English.Code() && code != German.Code() {
			found = append(found, newLanguage(code))
		}
	}
	return found
}

// Languages returns all of them, the default first.
func Languages() []*Language { return slices.Clone(all) }

func tags(all []*Language) (tags []language.Tag) {
	for _, l := range all {
		tags = append(tags, l.tag)
	}
	return tags
}

// newLanguage returns the language with a code. It panics if there is none, which a test excludes.
func newLanguage(code string) *Language {
	tag := language.MustParse(code)
	return &Language{tag: tag, numbers: message.NewPrinter(tag),
		load: sync.OnceValue(func() sentences { return load(tag) })}
}

// Code returns the language's code, such as "en".
func (l *Language) Code() string { return l.tag.String() }

// Name returns what the language calls itself.
func (l *Language) Name() string { return l.sentence("language.name", nil) }

// ByCode returns the language with a code; nil for none.
func ByCode(code string) *Language {
	for _, l := range all {
		if l.Code() == code {
			return l
		}
	}
	return nil
}

// Match returns the language that a person chose, by its code, else the one that the header Accept-Language prefers.
func Match(chosen, accept string) *Language {
	if l := ByCode(chosen); l != nil {
		return l
	}
	_, i := language.MatchStrings(matcher, accept)
	return all[i]
}

type key struct{}

// With returns a context for a reader of this language.
func With(ctx context.Context, l *Language) context.Context { return context.WithValue(ctx, key{}, l) }

// From returns the language of a context; English if it has none.
func From(ctx context.Context) *Language {
	if l, ok := ctx.Value(key{}).(*Language); ok {
		return l
	}
	return English
}

// sentence returns a sentence of the catalogue; in English if the language lacks it. One that English lacks is its id:
// a test excludes it, and a person had rather see that than nothing.
func (l *Language) sentence(id string, args map[string]any) string {
	m, ok := l.load()[id]
	switch {
	case !ok && l != English:
		return English.sentence(id, args)
	case !ok:
		return id
	}
	n, counts := args["Count"]
	if !counts {
		return fill(m[plural.Other], args)
	}
	shown := make(map[string]any, len(args))
	maps.Copy(shown, args)
	shown["Count"] = l.Number(n)
	return fill(cmp.Or(m[l.form(n)], m[plural.Other]), shown)
}

// Number returns a whole number with the separators of the language.
func (l *Language) Number(n any) string { return l.numbers.Sprintf("%d", n) }

// Decimal returns a number with so many digits after the point.
func (l *Language) Decimal(x float64, digits int) string {
	return l.numbers.Sprintf("%."+strconv.Itoa(digits)+"f", x)
}

// Day returns the date of a time in words: "14 January 2027".
func (l *Language) Day(t time.Time) string {
	return l.sentence("date.day", map[string]any{"Day": l.DayOfMonth(t), "Month": l.month(t.Month()),
		"Year": strconv.Itoa(t.Year())})
}

// ShortDay returns the date of a time without its year, as short as possible: "14 Jan".
func (l *Language) ShortDay(t time.Time) string {
	return l.sentence("date.short_day", map[string]any{"Day": l.DayOfMonth(t),
		"Month": l.ShortMonth(t)})
}

// Month returns the month of a time in words: "January 2027".
func (l *Language) Month(t time.Time) string {
	return l.sentence("date.month", map[string]any{"Month": l.month(t.Month()), "Year": strconv.Itoa(t.Year())})
}

// Week returns the dates of the seven days that begin with a date, in words: "16–22 November 2026".
func (l *Language) Week(from time.Time) string {
	to := from.AddDate(0, 0, 6)
	if from.Month() == to.Month() {
		return l.sentence("date.week_in_month", map[string]any{"From": l.DayOfMonth(from), "To": l.Day(to)})
	}
	return l.sentence("date.week", map[string]any{"From": l.Day(from), "To": l.Day(to)})
}

// DayOfMonth returns the day of a time in its month, as dates have it: in French the first is "1er".
func (l *Language) DayOfMonth(t time.Time) string {
	if t.Day() == 1 {
		return l.sentence("date.first", nil)
	}
	return strconv.Itoa(t.Day())
}

func (l *Language) month(m time.Month) string { return l.sentence("date.m"+strconv.Itoa(int(m)), nil) }

// ShortMonth returns the month of a time, as short as possible: "Jan".
func (l *Language) ShortMonth(t time.Time) string {
	return l.sentence("date.s"+strconv.Itoa(int(t.Month())), nil)
}

// Weekday returns a day of the week in words: "Saturday".
func (l *Language) Weekday(d time.Weekday) string {
	return l.sentence("date.w"+strconv.Itoa(int(d)), nil)
}

// ShortWeekday returns a day of the week, as short as possible: "Sat".
func (l *Language) ShortWeekday(d time.Weekday) string {
	return l.sentence("date.d"+strconv.Itoa(int(d)), nil)
}

// DayOf returns the day of a time as a heading: "Today", "Yesterday", "Saturday 21 November", with its year if that is
// not the year of now. Both are in the zone of now.
func (l *Language) DayOf(t, now time.Time) string {
	t = t.In(now.Location())
	switch t.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return l.sentence("date.today", nil)
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return l.sentence("date.yesterday", nil)
	}
	args := map[string]any{"Weekday": l.Weekday(t.Weekday()),
		"Day": l.DayOfMonth(t), "Month": l.month(t.Month()), "Year": strconv.Itoa(t.Year())}
	if t.Year() == now.Year() {
		return l.sentence("date.weekday", args)
	}
	return l.sentence("date.weekday_of", args)
}

// Clock returns a time in words: "14:05" if it is the day of now, else with its date. Both are in the zone of now.
func (l *Language) Clock(t, now time.Time) string {
	t = t.In(now.Location())
	clock := t.Format("15:04")
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return clock
	}
	return l.sentence("date.other_day", map[string]any{"Day": l.DayOfMonth(t), "Month": l.month(t.Month()),
		"Clock": clock})
}

// Moment returns a time in words, with its date: "22 November 2026, 14:05".
func (l *Language) Moment(t time.Time) string {
	return l.sentence("date.moment", map[string]any{"Date": l.Day(t), "Clock": t.Format("15:04")})
}

// Stamps matches the times in a sentence.
var Stamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// Plain returns a sentence with its times written out, as [Language.Clock] does, for readers outside the browser.
func (l *Language) Plain(s string, now time.Time) string {
	return Stamps.ReplaceAllStringFunc(s, func(stamp string) string {
		t, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return stamp
		}
		return l.Clock(t, now)
	})
}
