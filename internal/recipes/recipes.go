// Package recipes makes playlists from a person's own history, which renew themselves. A recipe says in one sentence
// with a few fields which songs it wants; choosing them reads each listen once, from columns, and says of each song why
// it is there.
package recipes

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/words"
)

// Kind is what a recipe asks of the history.
type Kind string

// The kinds.
const (
	Forgotten   Kind = "forgotten"   // loved or often heard, and not heard for Months
	Top         Kind = "top"         // most heard in a year, in a season of it, or in the last twelve months
	Discovered  Kind = "discovered"  // heard for the first time within the last Months
	Anniversary Kind = "anniversary" // heard on these days in earlier years
	Returned    Kind = "returned"    // by artists that the person came back to within the last Months
)

// Kinds are all of them.
var Kinds = []Kind{Forgotten, Top, Discovered, Anniversary, Returned}

// Seasons are those of the north, by their first months. Winter is of the year in which it ends.
var Seasons = []string{"winter", "spring", "summer", "autumn"}

// Periods are how often a recipe renews its playlist.
var Periods = []string{"day", "week", "month"}

// The limits of what a recipe may ask.
const (
	MostMonths  = 120
	MostSongs   = 500
	MostMinutes = 24 * 60
	// often is how many plays a song has that is often heard.
	often = 10
	// unknown is the length of a song if no service tells it.
	unknown = 4 * time.Minute
	// near is how many days before and after a day of the year count for it.
	near = 3
)

// away is how long somebody must not have heard an artist to come back to them.
const away = 365 * 24 * time.Hour

// ErrChanged says that a recipe has changed since its songs were chosen.
var ErrChanged = errors.New("the recipe has changed")

// Most is how many recipes a person has at most.
const Most = 100

// ErrTooMany says that a person has that many.
var ErrTooMany = errors.New("too many recipes")

// Recipe is a playlist that renews itself from a person's history.
type Recipe struct {
	ID, User int64
	Name     string // of the playlist
	Kind     Kind
	Months   int                  // with Forgotten, Discovered and Returned
	Loved    bool                 // with Forgotten: loved songs only; else those that are often heard too
	Year     int                  // with Top; 0 for the last twelve months
	Season   string               // with Top and a Year; empty for all of it
	Songs    int                  // at most
	Minutes  int                  // at most; 0 for any
	Library  library.ConnectionID // only songs that it has, or that were heard there; empty for all
	Disliked bool                 // without what anybody dislikes who shares their listening, or the person
	Every    string               // one of Periods
	Renewed  time.Time            // when it was renewed last
}

// Check returns what is wrong with a recipe; the zero Text for nothing.
func (r Recipe) Check() words.Text {
	needsMonths := r.Kind == Forgotten || r.Kind == Discovered || r.Kind == Returned
	switch {
	case r.Name == "" || utf8.RuneCountInString(r.Name) > 200:
		return words.New("recipes.wrong.name")
	case !slices.Contains(Kinds, r.Kind):
		return words.New("recipes.wrong.kind")
	case needsMonths && (r.Months < 1 || r.Months > MostMonths):
		return words.New("recipes.wrong.months", "Most", MostMonths)
	case r.Songs < 1 || r.Songs > MostSongs:
		return words.New("recipes.wrong.songs", "Most", MostSongs)
	case r.Minutes < 0 || r.Minutes > MostMinutes:
		return words.New("recipes.wrong.minutes", "Most", MostMinutes)
	case r.Year != 0 && (r.Year < 1970 || r.Year > 9999):
		return words.New("recipes.wrong.year")
	case r.Season != "" && (!slices.Contains(Seasons, r.Season) || r.Year == 0):
		return words.New("recipes.wrong.season")
	case !slices.Contains(Periods, r.Every):
		return words.New("recipes.wrong.every")
	}
	return words.Text{}
}

// Same reports whether two recipes are equal in everything that a person chooses.
func (r Recipe) Same(other Recipe) bool {
	other.ID, other.Renewed = r.ID, r.Renewed
	return r == other
}

// Facts are what is known of tracks, by their ids.
type Facts struct {
	Loved    map[uint32]bool // by the person
	Disliked map[uint32]bool // by anybody whose opinion counts
	Own      map[uint32]bool // the recipe's library has them
}

// Song is a song that a recipe has chosen, with what for.
type Song struct {
	Spelling    uint32 // as it was heard last
	Plays       int
	Within      int // of Plays: in the time that the recipe asks for
	First, Last time.Time
	Years       []int     // with Anniversary: in which it was heard
	Back        time.Time // with Returned: when the person came back to its artist
	Length      time.Duration
	track       uint32
	here        bool // heard at the recipe's library
}

// window is a stretch of time, in Unix seconds.
type window struct{ from, to int64 }

// windows returns the times that a recipe asks for, in order. Days begin in the zone of now.
func (r Recipe) windows(now time.Time) (all []window) {
	zone := now.Location()
	add := func(from, to time.Time) { all = append(all, window{from.Unix(), to.Unix()}) }
	switch r.Kind {
	case Top:
		if r.Year == 0 {
			add(now.AddDate(-1, 0, 0), now.Add(time.Second))
			break
		}
		from := time.Date(r.Year, 1, 1, 0, 0, 0, 0, zone)
		to := from.AddDate(1, 0, 0)
		if i := slices.Index(Seasons, r.Season); i >= 0 {
			from = time.Date(r.Year, time.Month(3*i), 1, 0, 0, 0, 0, zone) // month 0 is the December before
			to = from.AddDate(0, 3, 0)
		}
		add(from, to)
	case Anniversary:
		for year := 1970; year < now.Year(); year++ {
			last := time.Date(year, now.Month()+1, 0, 0, 0, 0, 0, zone).Day() // 28 or 29 in February
			day := time.Date(year, now.Month(), min(now.Day(), last), 0, 0, 0, 0, zone)
			add(day.AddDate(0, 0, -near), day.AddDate(0, 0, near+1))
		}
	case Discovered, Returned:
		add(now.AddDate(0, -r.Months, 0), now.Add(time.Second))
	}
	return all
}

// tally is one reading of a history.
type tally struct {
	r       Recipe
	music   *listening.Music
	windows []window
	songs   []Song
	of      map[uint32]int32 // the indexes of songs, by track
	heard   map[uint32]int64 // with Returned: when each artist was heard last
	back    map[uint32]int64 // when the person came back to them
}

// Choose returns the songs that a recipe wants, the best first. The columns are those of the person, in order of time;
// days begin in the zone of now.
func (r Recipe) Choose(all []*listening.Columns, m *listening.Music, f Facts, now time.Time) []Song {
	t := &tally{r: r, music: m, windows: r.windows(now), of: map[uint32]int32{}, heard: map[uint32]int64{},
		back: map[uint32]int64{}}
	for _, c := range all {
		t.read(c, now)
	}
	var chosen []Song
	for _, s := range t.songs {
		if t.wants(&s, f, now) {
			chosen = append(chosen, s)
		}
	}
	slices.SortFunc(chosen, func(a, b Song) int {
		return cmp.Or(cmp.Compare(len(b.Years), len(a.Years)), cmp.Compare(b.Within, a.Within),
			cmp.Compare(b.Plays, a.Plays), b.Last.Compare(a.Last), cmp.Compare(a.Spelling, b.Spelling))
	})
	return r.limit(chosen)
}

// read reads some listens.
func (t *tally) read(c *listening.Columns, now time.Time) {
	here := t.library(c)
	for i, spelling := range c.Spelling {
		at := c.Start + int64(c.At[i])
		artists, _, track := t.music.Of(spelling)
		if track == 0 || at > now.Unix() {
			continue
		}
		for len(t.windows) > 0 && at >= t.windows[0].to {
			t.windows = t.windows[1:]
		}
		within := len(t.windows) > 0 && at >= t.windows[0].from
		s := t.song(track)
		if s.Plays == 0 {
			s.First = time.Unix(at, 0)
		}
		s.Plays++
		s.Last, s.Spelling = time.Unix(at, 0), spelling
		s.Length = cmp.Or(t.music.Length(spelling), s.Length) // not every service tells it
		s.here = s.here || here[c.Sources[i]]
		if within {
			s.Within++
			if year := s.Last.In(now.Location()).Year(); t.r.Kind == Anniversary && !slices.Contains(s.Years, year) {
				s.Years = append(s.Years, year)
			}
		}
		if t.r.Kind != Returned {
			continue
		}
		for _, a := range artists {
			if last, ok := t.heard[a]; ok && within && at-last >= int64(away/time.Second) && t.back[a] == 0 {
				t.back[a] = at
			}
			t.heard[a] = at
		}
	}
}

// song returns what is known of a track.
func (t *tally) song(track uint32) *Song {
	i, known := t.of[track]
	if !known {
		i = int32(len(t.songs))
		t.of[track], t.songs = i, append(t.songs, Song{track: track})
	}
	return &t.songs[i]
}

// library reports, for each set of sources in the columns, whether it includes the recipe's library.
func (t *tally) library(c *listening.Columns) []bool {
	here := make([]bool, len(c.Sets))
	for i, set := range c.Sets {
		here[i] = slices.ContainsFunc(set, func(from uint16) bool { return c.From[from].Connection == t.r.Library })
	}
	return here
}

// wants reports whether a recipe wants a song.
func (t *tally) wants(s *Song, f Facts, now time.Time) bool {
	r := t.r
	if r.Library != "" && !s.here && !f.Own[s.track] || r.Disliked && f.Disliked[s.track] {
		return false
	}
	switch r.Kind {
	case Forgotten:
		return s.Last.Before(now.AddDate(0, -r.Months, 0)) && (f.Loved[s.track] || !r.Loved && s.Plays >= often)
	case Discovered:
		return s.Within == s.Plays
	case Returned:
		artists, _, _ := t.music.Of(s.Spelling)
		for _, a := range artists {
			if at := t.back[a]; at != 0 {
				s.Back, s.Within = time.Unix(at, 0), 0 // the best are those that were heard most at any time
				return true
			}
		}
		return false
	}
	return s.Within > 0
}

// limit returns as many songs as the recipe wants. One that would be too long leaves room for a shorter one.
func (r Recipe) limit(all []Song) (some []Song) {
	left := time.Duration(r.Minutes) * time.Minute
	for _, s := range all {
		if len(some) == r.Songs {
			break
		}
		if length := cmp.Or(s.Length, unknown); r.Minutes > 0 {
			if length > left {
				continue
			}
			left -= length
		}
		some = append(some, s)
	}
	return some
}

// Why says why a song is there. Days are in the zone.
func (r Recipe) Why(s Song, zone *time.Location) words.Text {
	last := words.Day(s.Last.In(zone))
	switch r.Kind {
	case Forgotten:
		return words.New("recipes.why.forgotten", "Count", s.Plays, "Day", last)
	case Discovered:
		return words.New("recipes.why.discovered", "Count", s.Plays, "Day", words.Day(s.First.In(zone)))
	case Anniversary:
		return words.New("recipes.why.anniversary", "Years", years(s.Years))
	case Returned:
		return words.New("recipes.why.returned", "Count", s.Plays, "Day", words.Day(s.Back.In(zone)))
	}
	return words.New("recipes.why.top", "Count", s.Within)
}

// years lists years.
func years(all []int) string {
	names := make([]string, len(all))
	for i, y := range all {
		names[i] = strconv.Itoa(y)
	}
	return strings.Join(names, ", ")
}

// Due reports whether a recipe is to be renewed: its playlist is of an earlier day, week or month. They begin at four
// in the morning, in the zone of now.
func (r Recipe) Due(now time.Time) bool {
	from := time.Date(now.Year(), now.Month(), now.Day(), 4, 0, 0, 0, now.Location())
	if now.Before(from) {
		from = from.AddDate(0, 0, -1)
	}
	switch r.Every {
	case "week":
		from = from.AddDate(0, 0, -(int(from.Weekday())+6)%7)
	case "month":
		from = from.AddDate(0, 0, 1-from.Day())
	}
	return r.Renewed.Before(from)
}
