package core

import (
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reprise/internal/library"
)

// Time is a time in an answer of the API: RFC 3339 in UTC, with milliseconds.
type Time struct{ time.Time }

// MaybeTime is a [Time] that may be missing: the zero time is null.
type MaybeTime struct{ time.Time }

// Stamp returns a time as the API has it.
func Stamp(t time.Time) Time { return Time{t} }

// Moment returns a time as the API has it; null for the zero time.
func Moment(t time.Time) MaybeTime { return MaybeTime{t} }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(strconv.Quote(library.Stamp(t.Time))), nil }

// MarshalJSON implements json.Marshaler.
func (t MaybeTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return Time(t).MarshalJSON()
}

// Schema implements huma.SchemaProvider.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// Schema implements huma.SchemaProvider.
func (MaybeTime) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
}
