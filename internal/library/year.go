package library

import "time"

// YearLink shows a part of a person's year to anyone who has its code.
type YearLink struct {
	User   int64
	Year   int
	Hash   string   // of the code; see accounts.HashToken
	Code   string   // empty where the key that it was sealed with is lost
	Parts  []string // what it shows
	Zone   string   // name of the time zone of the year's days and hours
	MadeAt time.Time
}
