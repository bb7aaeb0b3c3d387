package listenbrainz

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// number and text decode values in the free-form part of a listen. Clients submit numbers as strings and lists for
// strings; values that cannot be read are left out, so that they do not make the whole page unreadable.
type (
	number float64
	text   string
)

// maxNumber is larger than any duration: eleven days in milliseconds.
const maxNumber = 1e9

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	if v, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64); err == nil && v > 0 && v < maxNumber {
		*n = number(v)
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. It takes the first element of a list.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	switch b[0] {
	case '"':
		var s string
		if json.Unmarshal(b, &s) == nil {
			*t = text(s)
		}
	case '[':
		var list []text
		if json.Unmarshal(b, &list) == nil && len(list) > 0 {
			*t = list[0]
		}
	}
	return nil
}
