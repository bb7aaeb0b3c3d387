package imports

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"time"

	"reprise/internal/words"
)

// Question is what a file does not say and its person has to.
type Question string

// The questions. A file has one at the most.
const (
	NoQuestion  Question = ""
	AskColumns  Question = "columns"   // what the columns of a table hold
	AskTimeZone Question = "time_zone" // where its times, which name no zone, were
	AskDays     Question = "days"      // whether its dates, such as 3/4/2026, begin with the day
	AskVideos   Question = "videos"    // which of the videos that were watched are music
)

// Columns says which column of a table holds what, counted from 1; 0 for none. With an artist of 0, the title holds
// both ("Artist - Title").
type Columns struct {
	Artist int `json:"artist" minimum:"0" maximum:"500" doc:"0 if the title holds both: Artist - Title."`
	Title  int `json:"title" minimum:"1" maximum:"500"`
	Album  int `json:"album,omitempty" minimum:"0" maximum:"500"`
	Time   int `json:"time" minimum:"1" maximum:"500" doc:"When the play began."`
	Length int `json:"length,omitempty" minimum:"0" maximum:"500" doc:"The track's, in seconds or as minutes:seconds."`
}

// Answers are what a person has said about a file. The zero value is what Reprise takes by itself.
type Answers struct {
	Columns  *Columns `json:"columns,omitempty"`
	TimeZone string   `json:"time_zone,omitempty"` // an IANA name; UTC for none
	Days     string   `json:"days,omitempty"`      // DayFirst or MonthFirst
	Videos   string   `json:"videos,omitempty"`    // OnlyMusic or AllVideos
}

// The answers to AskVideos.
const (
	OnlyMusic = "music" // what was played in YouTube Music, or on the channel of an artist
	AllVideos = "all"
)

// Check returns a *RefusedError for answers that cannot be.
func (a Answers) Check() error {
	if c := a.Columns; c != nil && (c.Title < 1 || c.Time < 1 || min(c.Artist, c.Album, c.Length) < 0 ||
		max(c.Artist, c.Title, c.Album, c.Time, c.Length) > maxFields) {
		return &RefusedError{Problem: words.New("import.refused.columns")}
	}
	if _, err := time.LoadLocation(a.TimeZone); err != nil {
		return &RefusedError{Problem: words.New("channels.problem.zone")}
	}
	if a.Days != "" && a.Days != DayFirst && a.Days != MonthFirst {
		return &RefusedError{Problem: words.New("import.refused.days")}
	}
	if a.Videos != "" && a.Videos != OnlyMusic && a.Videos != AllVideos {
		return &RefusedError{Problem: words.New("import.refused.videos")}
	}
	return nil
}

// Unfit returns the name of the answer that cannot be; empty for none.
func (a Answers) Unfit() string {
	switch {
	case (Answers{TimeZone: a.TimeZone}).Check() != nil:
		return "time_zone"
	case (Answers{Days: a.Days}).Check() != nil:
		return "days"
	case (Answers{Videos: a.Videos}).Check() != nil:
		return "videos"
	case a.Check() != nil:
		return "title"
	}
	return ""
}

// zone returns the time zone of times that name none.
func (a Answers) zone() *time.Location {
	if l, err := time.LoadLocation(a.TimeZone); err == nil {
		return l
	}
	return time.UTC
}

// Value implements driver.Valuer.
func (a Answers) Value() (driver.Value, error) { return stored(a) }

// Scan implements sql.Scanner.
func (a *Answers) Scan(v any) error { return scanned(v, a) }

// Sample is the beginning of a table: at most 6 rows of at most 30 cells.
type Sample [][]string

// Value implements driver.Valuer.
func (s Sample) Value() (driver.Value, error) { return stored(s) }

// Scan implements sql.Scanner.
func (s *Sample) Scan(v any) error { return scanned(v, s) }

func stored(v any) (driver.Value, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func scanned(from, to any) error {
	switch text := from.(type) {
	case string:
		return json.Unmarshal([]byte(text), to)
	case []byte:
		return json.Unmarshal(text, to)
	}
	return errors.New("no text")
}
