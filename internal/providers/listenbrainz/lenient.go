package listenbrainz

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// number and text read what stands in a free-form part of an answer. Programs submit numbers as texts, lists for
// texts and the like; such a detail must not make a whole page unreadable, and what cannot be read is left out.
type (
	number float64
	text   string
)

// maxNumber is beyond any duration: in milliseconds it is eleven days.
const maxNumber = 1e9

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	if v, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64); err == nil && v > 0 && v < maxNumber {
		*n = number(v)
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. Of a list it takes the first.
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
