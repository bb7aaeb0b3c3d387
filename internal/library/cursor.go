package library

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Cursor is a place in the listens that a filter selects. The page that starts there has the listens older than the
// cursor.
type Cursor struct {
	At     time.Time
	ID     int64 // of a listen at that time; 0 for a place before all listens at that time
	Filter ListenFilter
}

// After returns the cursor for the listens older than l.
func (f ListenFilter) After(l StoredListen) Cursor { return Cursor{l.PlayedAt, l.ID, f} }

// Text returns the cursor for use in an address. It includes the filter, but not the user.
func (c Cursor) Text() string {
	f, filter := c.Filter, url.Values{}
	text := func(name, value string) {
		if value != "" {
			filter.Set(name, value)
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			filter.Set(name, strconv.FormatInt(n, 10))
		}
	}
	text("artist", f.Artist)
	text("source", string(f.Source))
	text("player", f.Player)
	text("tag", f.Tag)
	text("zone", f.Zone)
	number("a", int64(f.ArtistID))
	number("b", int64(f.AlbumID))
	number("t", int64(f.TrackID))
	number("h", int64(f.Hours))
	number("w", int64(f.Weekdays))
	for name, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			filter.Set(name, strconv.FormatInt(at.UnixMilli(), 10))
		}
	}
	place := fmt.Sprintf("%d.%d", c.At.UnixMilli(), c.ID)
	if len(filter) > 0 {
		place += "?" + filter.Encode()
	}
	return base64.RawURLEncoding.EncodeToString([]byte(place))
}

// ParseCursor parses a text for a user. It returns ErrBadCursor if the text is not a cursor.
func ParseCursor(user int64, text string) (c Cursor, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, ErrBadCursor
	}
	place, filter, _ := strings.Cut(string(raw), "?")
	at, id, _ := strings.Cut(place, ".")
	ms, errA := strconv.ParseInt(at, 10, 64)
	n, errI := strconv.ParseInt(id, 10, 64)
	values, errF := url.ParseQuery(filter)
	if errA != nil || errI != nil || errF != nil {
		return c, ErrBadCursor
	}
	bad := false
	number := func(name string, bits int) uint64 {
		text := values.Get(name)
		if text == "" {
			return 0
		}
		n, err := strconv.ParseUint(text, 10, bits)
		bad = bad || err != nil
		return n
	}
	c = Cursor{At: time.UnixMilli(ms).UTC(), ID: n, Filter: ListenFilter{User: user, Artist: values.Get("artist"),
		Source: ConnectionID(values.Get("source")), Tag: values.Get("tag"), Zone: values.Get("zone"),
		Player:   values.Get("player"),
		ArtistID: uint32(number("a", 32)), AlbumID: uint32(number("b", 32)), TrackID: uint32(number("t", 32)),
		Hours: uint32(number("h", 32)), Weekdays: uint8(number("w", 8))}}
	for name, end := range map[string]*time.Time{"from": &c.Filter.From, "to": &c.Filter.To} {
		if text := values.Get(name); text != "" {
			ms, err := strconv.ParseInt(text, 10, 64)
			bad = bad || err != nil
			*end = time.UnixMilli(ms).UTC()
		}
	}
	if bad {
		return Cursor{}, ErrBadCursor
	}
	return c, nil
}
