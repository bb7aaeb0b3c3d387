package words

import (
	"context"
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
