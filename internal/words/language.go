package words

import (
	"context"
	"maps"
	"regexp"
	"strconv"
	"sync"
	"time"

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

// The languages. English is the default.
var (
	English = newLanguage(language.English)
	German  = newLanguage(language.German)
)

// Languages returns all of them, the default first.
func Languages() []*Language { return []*Language{English, German} }

var matcher = language.NewMatcher([]language.Tag{language.English, language.German})

func newLanguage(tag language.Tag) *Language {
	return &Language{tag: tag, numbers: message.NewPrinter(tag),
		load: sync.OnceValue(func() sentences { return load(tag) })}
}

// Code returns the language's code: "en" or "de".
func (l *Language) Code() string { return l.tag.String() }

// Name returns what the language calls itself.
func (l *Language) Name() string { return l.sentence("language.name", nil) }

// ByCode returns the language with a code; nil for none.
func ByCode(code string) *Language {
	for _, l := range Languages() {
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
	return Languages()[i]
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

// sentence returns a sentence of the catalogue. One that is missing is its id: a test excludes it, and a person had
// rather see that than nothing.
func (l *Language) sentence(id string, args map[string]any) string {
	m, ok := l.load()[id]
	if !ok {
		return id
	}
	n, counts := args["Count"]
	if !counts {
		return fill(m.other, args)
	}
	shown := make(map[string]any, len(args))
	maps.Copy(shown, args)
	shown["Count"] = l.Number(n)
	if m.one != "" && isOne(n) {
		return fill(m.one, shown)
	}
	return fill(m.other, shown)
}

// Number returns a whole number with the separators of the language.
func (l *Language) Number(n any) string { return l.numbers.Sprintf("%d", n) }

// Decimal returns a number with so many digits after the point.
func (l *Language) Decimal(x float64, digits int) string {
	return l.numbers.Sprintf("%."+strconv.Itoa(digits)+"f", x)
}

// Day returns the date of a time in words: "14 January 2027".
func (l *Language) Day(t time.Time) string {
	return l.sentence("date.day", map[string]any{"Day": strconv.Itoa(t.Day()), "Month": l.month(t.Month()),
		"Year": strconv.Itoa(t.Year())})
}

// ShortDay returns the date of a time without its year, as short as possible: "14 Jan".
func (l *Language) ShortDay(t time.Time) string {
	return l.sentence("date.short_day", map[string]any{"Day": strconv.Itoa(t.Day()),
		"Month": l.ShortMonth(t)})
}

// Month returns the month of a time in words: "January 2027".
func (l *Language) Month(t time.Time) string {
	return l.sentence("date.month", map[string]any{"Month": l.month(t.Month()), "Year": strconv.Itoa(t.Year())})
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
		"Day": strconv.Itoa(t.Day()), "Month": l.month(t.Month()), "Year": strconv.Itoa(t.Year())}
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
	return l.sentence("date.other_day", map[string]any{"Day": strconv.Itoa(t.Day()), "Month": l.month(t.Month()),
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
