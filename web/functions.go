package web

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"time"

	"reprise/web/static"
)

// functions holds what templates may call.
var functions = template.FuncMap{
	"asset":     asset,
	"when":      func(t any) template.HTML { return timeElement(t, "ago") },
	"until":     func(t any) template.HTML { return timeElement(t, "until") },
	"clock":     func(t any) template.HTML { return timeElement(t, "at") },
	"date":      func(t any) template.HTML { return timeElement(t, "date") },
	"say":       say,
	"guide":     guide,
	"length":    length,
	"number":    Number,
	"count":     Count,
	"size":      size,
	"state":     func(name string) string { return stateWords[name] },
	"stream":    func(name string) string { return streamWords[name] },
	"dict":      dict,
	"variable":  variable,
	"art":       pictureAddress,
	"pictured":  pictured,
	"partdate":  partDate,
	"sentences": func(text string) []string { return strings.SplitAfter(text, ". ") },
}

// Asset returns the address of a static file, with its fingerprint. It panics if there is no such file, which is a
// mistake in the program.
func Asset(name string) string {
	address, err := asset(name)
	if err != nil {
		panic("web: " + err.Error())
	}
	return address
}

// asset returns the address of a static file, with its fingerprint.
func asset(name string) (string, error) {
	address, ok := static.URL(name)
	if !ok {
		return "", fmt.Errorf("there is no static file %q", name)
	}
	return address, nil
}

// timeElement returns a time element. It is readable without JavaScript; with it, the browser shows the time in
// its own
// zone: how long ago ("ago"), how long until then ("until"), a date ("date") or a time of day ("at"). t is an RFC
// 3339
// string or a pointer to one; nil gives nothing.
func timeElement(t any, kind string) template.HTML {
	var text string
	switch v := t.(type) {
	case string:
		text = v
	case *string:
		if v == nil {
			return ""
		}
		text = *v
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	plain := at.UTC().Format("2 Jan 2006, 15:04 UTC")
	if kind == "date" {
		plain = at.UTC().Format("2 January 2006")
	}
	const element = `<time datetime="%s" data-time="%s" title="%s">%s</time>`
	return template.HTML(fmt.Sprintf(element, at.UTC().Format(time.RFC3339), kind, plain, plain))
}

var (
	stamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	// pages matches addresses with a path. Those without one are examples of what to type in.
	pages = regexp.MustCompile(`https://[^\s/"'<>]+/[^\s"'<>]*[^\s"'<>.,:;)]`)
)

// say returns a sentence with time elements for the RFC 3339 times in it.
func say(text string) template.HTML {
	return replace(text, stamps, func(stamp string) template.HTML { return timeElement(stamp, "at") })
}

// guide returns a provider's instructions with links for the addresses in them.
func guide(text string) template.HTML {
	return replace(text, pages, func(url string) template.HTML {
		url = template.HTMLEscapeString(url)
		return template.HTML(`<a href="` + url + `" target="_blank" rel="noreferrer">` + url + `</a>`)
	})
}

// replace escapes text, and replaces what matches with elements.
func replace(text string, what *regexp.Regexp, by func(string) template.HTML) template.HTML {
	var b strings.Builder
	last := 0
	for _, m := range what.FindAllStringIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[last:m[0]]))
		b.WriteString(string(by(text[m[0]:m[1]])))
		last = m[1]
	}
	b.WriteString(template.HTMLEscapeString(text[last:]))
	return template.HTML(b.String())
}

// length returns a track's length in minutes and seconds.
func length(ms *int64) string {
	if ms == nil {
		return ""
	}
	s := (*ms + 500) / 1000
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Number returns a number, 0 or more, with separators.
func Number(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Count returns a number and its noun: Count(1200, "listen", "listens") is "1,200 listens".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// size returns a number of bytes, 0 or more, in words.
func size(n int) string {
	const kilo = 1000
	switch {
	case n < kilo:
		return Count(n, "byte", "bytes")
	case n < 10*kilo:
		return fmt.Sprintf("%.1f kB", float64(n)/kilo)
	case n < kilo*kilo:
		return fmt.Sprintf("%d kB", n/kilo)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/kilo/kilo)
}

// stateWords holds the states of connections and of deliveries in words. The partial "shape" has the shape of each.
var stateWords = map[string]string{
	"healthy":         "In order",
	"syncing":         "Reading",
	"waiting":         "Waiting",
	"held":            "On hold",
	"needs_reconnect": "Needs you",
	"needs_admin":     "Needs the administrator",
	"paused":          "Paused",
	"new":             "New",
	"off":             "Not set up",

	"scheduled": "Scheduled",
	"running":   "Going out",
	"retrying":  "Retrying",
	"parked":    "Parked",
	"dead":      "Dead letter",
	"done":      "Done",
}

// streamWords holds the streams of a connection in words.
var streamWords = map[string]string{"listens": "Listens", "playlists": "Playlists", "deliveries": "Sending"}

// variable returns the environment variable of a setting.
func variable(setting string) string {
	return "REPRISE_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

// pictureAddress returns the address of a picture; empty for none.
func pictureAddress(name string) string {
	if name == "" {
		return ""
	}
	return "/art/" + name
}

// pictured says what a picture shows: an artist, or the cover of an album. album is a string or a pointer to one,
// and may
// be missing. On the page of an album, kind says so and name is its title.
func pictured(portrait bool, name, artist string, album any, kind string) string {
	title := ""
	switch v := album.(type) {
	case string:
		title = v
	case *string:
		if v != nil {
			title = *v
		}
	}
	switch {
	case portrait:
		return artist
	case kind == "album":
		return "Cover of " + name
	case title != "":
		return "Cover of " + title
	}
	return "Cover"
}

// partDate returns "1999", "1999-06" or "1999-06-12" in words, and other strings unchanged.
func partDate(text string) string {
	for _, form := range [][2]string{{"2006-01-02", "2 January 2006"}, {"2006-01", "January 2006"}} {
		if at, err := time.Parse(form[0], text); err == nil {
			return at.Format(form[1])
		}
	}
	return text
}

// dict returns the argument of a partial, from names and values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: a name without a value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}
