package words

import (
	"context"
	"regexp"
	"time"
)

type zoneKey struct{}

// WithZone returns a context for a reader who has chosen a time zone.
func WithZone(ctx context.Context, zone *time.Location) context.Context {
	return context.WithValue(ctx, zoneKey{}, zone)
}

// Zone returns the time zone that the reader has chosen; nil if it is the browser's.
func Zone(ctx context.Context) *time.Location {
	zone, _ := ctx.Value(zoneKey{}).(*time.Location)
	return zone
}

// zoneName matches the names of time zones: those that exist have at most 32 letters.
var zoneName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_+/-]{0,63}$`)

// ZoneNamed returns the time zone with an IANA name that somebody has sent, and whether there is one. The server's own
// zone, "Local", is nobody's.
func ZoneNamed(name string) (*time.Location, bool) {
	if !zoneName.MatchString(name) || name == time.Local.String() {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}
