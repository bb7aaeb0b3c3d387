package imports

import (
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// takeoutPage reports whether a file begins like the pages of Google Takeout, which come with Google's styles.
func takeoutPage(head string) bool {
	return strings.HasPrefix(head, "<") &&
		(strings.Contains(head, "mdl-") || strings.Contains(head, "youtube.com/watch"))
}

// takeoutRows reads watch-history.html of Google Takeout. Each play is a box with a heading, links to the video and its
// channel, and a time; an advertisement has one more line.
func takeoutRows(m *meter, when *time.Location, all bool, out yield) error {
	in := html.NewTokenizer(page{m})
	in.SetMaxBuf(mostStyle)
	var box *takeoutBox
	for {
		kind := in.Next()
		if kind == html.ErrorToken {
			break
		}
		name, hasAttributes := in.TagName()
		switch tag := string(name); kind {
		case html.StartTagToken:
			class, link := "", ""
			for hasAttributes {
				var key, value []byte
				key, value, hasAttributes = in.TagAttr()
				switch string(key) {
				case "class":
					class = string(value)
				case "href":
					link = string(value)
				}
			}
			if tag == "div" && strings.Contains(" "+class+" ", " outer-cell ") {
				if box != nil && !out(box.row(when, all)) {
					return errStop
				}
				box = &takeoutBox{}
			}
			if box != nil && tag == "a" && len(box.links) < mostLines {
				box.links = append(box.links, link)
				box.inLink = true
			}
		case html.EndTagToken:
			if box != nil && tag == "a" {
				box.inLink = false
			}
		case html.TextToken:
			if box != nil {
				box.text(in.Token().Data)
			}
		}
	}
	if err := in.Err(); !errors.Is(err, io.EOF) {
		if errors.Is(err, html.ErrBufferExceeded) {
			return errBudget
		}
		return err
	}
	if box == nil {
		return errKind
	}
	if !out(box.row(when, all)) {
		return errStop
	}
	return nil
}

// mostStyle is how long the longest part of a page may be, in bytes: Google's styles have more than a row may.
const mostStyle = 1 << 20

// page reads a text without regard to rows.
type page struct{ *meter }

// Read implements io.Reader.
func (p page) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.used += int64(n)
	p.took()
	return n, err
}

// takeoutBox is one of them.
type takeoutBox struct {
	heading string
	links   []string // addresses
	named   []string // their texts
	lines   []string // the other texts
	inLink  bool
}

// mostLines is how many texts and links of a box are kept.
const mostLines = 20

// spaces makes the spaces that Google puts into times plain.
var spaces = strings.NewReplacer("\u00a0", " ", "\u202f", " ")

func (b *takeoutBox) text(t string) {
	t = strings.TrimSpace(spaces.Replace(t))
	switch {
	case t == "":
	case b.inLink && len(b.named) < len(b.links):
		b.named = append(b.named, t)
	case b.heading == "":
		b.heading = t
	case len(b.lines) < mostLines:
		b.lines = append(b.lines, t)
	}
}

// row is that of the same play in JSON.
func (b *takeoutBox) row(when *time.Location, all bool) row {
	if len(b.links) == 0 || len(b.named) != len(b.links) {
		return row{skip: true} // gone
	}
	if u, err := url.Parse(b.links[0]); err != nil || u.Query().Get("v") == "" {
		return row{skip: true} // a post, or a search
	}
	r := youTubeRow{Header: b.heading, Title: b.named[0], TitleURL: b.links[0]}
	for i, line := range b.lines {
		at, ok := spokenTime(line, when)
		if !ok {
			continue
		}
		r.Time = at
		for _, rest := range b.lines[i+1:] {
			if strings.Contains(rest, "Google Ads") {
				return row{skip: true}
			}
		}
		break
	}
	if r.Time.IsZero() {
		return row{bad: unreadTime(cellOf(b.lines, len(b.lines)-1), likeGoogle)}
	}
	for _, name := range b.named[1:] {
		r.Channels = append(r.Channels, struct {
			Name string `json:"name"`
		}{name})
	}
	return r.row(all)
}

// months are the first letters of months in the languages that write them with Latin letters.
var months = []struct {
	month time.Month
	names string
}{{time.January, "jan ene gen"}, {time.February, "feb fév fev"}, {time.March, "mar mär mrt maa"},
	{time.April, "apr avr abr"}, {time.May, "may mai mei mag maj"}, {time.June, "jun juin giu"},
	{time.July, "jul juil lug"}, {time.August, "aug aoû ago"}, {time.September, "sep set"},
	{time.October, "oct okt out ott"}, {time.November, "nov"}, {time.December, "dec dez déc dic"}}

// zones are the hours that common zones are ahead of UTC. CST and IST have several meanings.
var zones = map[string]float64{"UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "MEZ": 1,
	"CEST": 2, "MESZ": 2, "EET": 2, "OEZ": 2, "EEST": 3, "OESZ": 3, "MSK": 3, "EST": -5, "EDT": -4, "CDT": -5,
	"MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10, "JST": 9, "KST": 9, "AEST": 10,
	"AEDT": 11, "NZST": 12, "NZDT": 13}

// spokenTime reads a time as people of some countries write it: "Apr 30, 2026, 9:05:11 PM CEST", "30 avr. 2026,
// 21:05:11 UTC+2" or "30.04.2026, 21:05:11 MESZ". in is the zone of times whose zone it does not know.
func spokenTime(text string, in *time.Location) (at time.Time, ok bool) {
	var year, day, hour, minute, second int
	var month time.Month
	var afternoon, twelve, clocked bool
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(strings.Trim(part, "."))
		upper := strings.ToUpper(part)
		switch {
		case err == nil && n > 31 && year == 0:
			year = n
		case err == nil && day == 0:
			day = n
		case strings.Contains(part, ":") && !clocked && part[0] >= '0' && part[0] <= '9':
			t, err := time.Parse("15:04:05", part)
			if err != nil {
				return at, false
			}
			hour, minute, second = t.Clock()
			clocked = true
		case upper == "AM" || upper == "PM":
			twelve, afternoon = true, upper == "PM"
		case strings.Count(part, ".") == 2 && year == 0:
			t, err := time.Parse("2.1.2006", part)
			if err != nil {
				return at, false
			}
			year, month, day = t.Date()
		case month == 0 && monthOf(part) > 0:
			month = monthOf(part)
		case clocked:
			in = zoneOf(upper, in)
		}
	}
	if twelve {
		hour %= 12
		if afternoon {
			hour += 12
		}
	}
	at = time.Date(year, month, day, hour, minute, second, 0, in)
	return at, clocked && year >= 2000 && month > 0 && at.Day() == day
}

func monthOf(name string) time.Month {
	name = strings.ToLower(name)
	for _, m := range months {
		for start := range strings.FieldsSeq(m.names) {
			if strings.HasPrefix(name, start) {
				return m.month
			}
		}
	}
	return 0
}

// zoneOf returns the zone of a name such as CEST or GMT+02:00, or the other one.
func zoneOf(name string, other *time.Location) *time.Location {
	if hours, ok := zones[name]; ok {
		return time.FixedZone(name, int(hours*3600))
	}
	for _, start := range []string{"GMT", "UTC"} {
		for _, layout := range []string{start + "-07:00", start + "-07", start + "-7"} {
			if t, err := time.Parse(layout, name); err == nil {
				return t.Location()
			}
		}
	}
	if hours, ok := strings.CutPrefix(name, "UTC"); ok {
		if n, err := strconv.Atoi(hours); err == nil && n >= -12 && n <= 14 {
			return time.FixedZone(name, n*3600)
		}
	}
	return other
}
