package export

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reprise/internal/library"
)

// stampLayout is the layout of library.Stamp.
const stampLayout = "2006-01-02T15:04:05.000Z07:00"

// appendRecord appends the library.ListenRecord of a listen as a line, exactly as encoding/json writes it but several
// times as fast.
func appendRecord(b []byte, l *library.StoredListen) []byte {
	b = append(b, `{"id":"`...)
	b = strconv.AppendInt(b, l.ID, 10)
	b = appendText(append(b, `","track":`...), l.Title)
	b = appendText(append(b, `,"artist":`...), l.Artist)
	b = appendText(append(b, `,"album":`...), l.Album)
	b = append(b, `,"played_at":"`...)
	b = l.PlayedAt.UTC().AppendFormat(b, stampLayout)
	b = append(b, `","duration_ms":`...)
	if ms := l.Duration.Milliseconds(); ms != 0 {
		b = strconv.AppendInt(b, ms, 10)
	} else {
		b = append(b, "null"...)
	}
	b = appendKnown(append(b, `,"isrc":`...), l.ISRC)
	b = appendKnown(append(b, `,"recording_mbid":`...), l.RecordingMBID)
	b = append(b, `,"approximate":`...)
	b = strconv.AppendBool(b, l.Approximate)
	b = append(b, `,"sources":[`...)
	for i, s := range l.Sources {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"provider":`...), s.Connection.Provider())
		b = appendText(append(b, `,"connection":`...), string(s.Connection))
		b = appendText(append(b, `,"source_id":`...), s.SourceID)
		if ms := s.Later.Milliseconds(); ms != 0 {
			b = strconv.AppendInt(append(b, `,"later_ms":`...), ms, 10)
		}
		if s.Player != "" {
			b = appendText(append(b, `,"player":`...), s.Player)
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	if l.Ruled != nil {
		b = appendValue(append(b, `,"ruled":`...), l.Ruled.Record())
	}
	return append(b, "}\n"...)
}

// appendKnown appends a JSON string, or null if it is empty.
func appendKnown(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendText(b, s)
}

// appendText appends a JSON string without escaping HTML.
func appendText(b []byte, s string) []byte {
	if plain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	return appendValue(b, s)
}

// appendValue appends a value that can always be encoded.
func appendValue(b []byte, v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// plain reports whether s needs no escaping in JSON.
func plain(s string) bool {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	// encoding/json escapes these two separators, because they end a line in JavaScript.
	return ascii || utf8.ValidString(s) && !strings.Contains(s, "\u2028") && !strings.Contains(s, "\u2029")
}

// appendListenBrainz appends a listen as a line of ListenBrainz' export.
func appendListenBrainz(b []byte, l *library.StoredListen) []byte {
	b = strconv.AppendInt(append(b, `{"listened_at":`...), l.PlayedAt.Unix(), 10)
	b = appendText(append(b, `,"track_metadata":{"artist_name":`...), l.Artist)
	b = appendText(append(b, `,"track_name":`...), l.Title)
	if l.Album != "" {
		b = appendText(append(b, `,"release_name":`...), l.Album)
	}
	b = append(b, `,"additional_info":{`...)
	if ms := l.Duration.Milliseconds(); ms != 0 {
		b = append(strconv.AppendInt(append(b, `"duration_ms":`...), ms, 10), ',')
	}
	if l.ISRC != "" {
		b = append(appendText(append(b, `"isrc":`...), l.ISRC), ',')
	}
	if l.RecordingMBID != "" {
		b = append(appendText(append(b, `"recording_mbid":`...), l.RecordingMBID), ',')
	}
	if i := slices.IndexFunc(l.Sources, func(s library.Source) bool { return s.Player != "" }); i >= 0 {
		b = append(appendText(append(b, `"media_player":`...), l.Sources[i].Player), ',')
	}
	return append(b, `"submission_client":"Reprise"}}}`+"\n"...)
}

// appendMaloja appends a listen as an element of "scrobbles" in Maloja's export. The artist is not split, since Maloja
// does that itself.
func appendMaloja(b []byte, l *library.StoredListen) []byte {
	b = strconv.AppendInt(append(b, `{"time":`...), l.PlayedAt.Unix(), 10)
	b = appendText(append(b, `,"track":{"artists":[`...), l.Artist)
	b = appendText(append(b, `],"title":`...), l.Title)
	if l.Album != "" {
		b = appendText(append(b, `,"album":{"albumtitle":`...), l.Album)
		b = append(b, '}')
	}
	b = append(b, `,"length":`...)
	if seconds := int64(l.Duration / time.Second); seconds > 0 {
		b = strconv.AppendInt(b, seconds, 10)
	} else {
		b = append(b, "null"...)
	}
	return append(b, `},"duration":null,"origin":"import:reprise"}`...)
}
