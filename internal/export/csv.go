package export

import (
	"net/url"
	"strconv"
	"strings"

	"reprise/internal/library"
)

// Heading is the first line of CSV.
const Heading = "played_at,track,artist,album,duration_ms,isrc,recording_mbid,approximate,sources"

// LastFMHeading is the first line of LastFM. Its last column identifies files of Reprise, whose cells are escaped.
const LastFMHeading = "uts,utc_time,artist,artist_mbid,album,album_mbid,track,track_mbid,duration_ms"

// risky are the first characters of cells that spreadsheets run as formulas.
const risky = "=+-@\t\r\n"

// Safe escapes a text so that no spreadsheet runs it as a formula: if it looks like one, even after apostrophes, it
// gets an apostrophe in front. Plain undoes this exactly.
func Safe(s string) string {
	if rest := strings.TrimLeft(s, "'"); rest != "" && strings.IndexByte(risky, rest[0]) >= 0 {
		return "'" + s
	}
	return s
}

// Plain undoes Safe.
func Plain(cell string) string {
	if rest := strings.TrimLeft(cell, "'"); rest != cell && rest != "" && strings.IndexByte(risky, rest[0]) >= 0 {
		return cell[1:]
	}
	return cell
}

// appendCell appends a cell, without a separator.
func appendCell(b []byte, s string) []byte {
	s = Safe(s)
	if !strings.ContainsAny(s, "\",\r\n") && !strings.HasPrefix(s, " ") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// appendRow appends a listen as a row of CSV.
func appendRow(b []byte, l *library.StoredListen) []byte {
	b = l.PlayedAt.UTC().AppendFormat(b, stampLayout)
	for _, name := range []string{l.Title, l.Artist, l.Album} {
		b = appendCell(append(b, ','), name)
	}
	b = appendLength(append(b, ','), l)
	b = appendCell(append(b, ','), l.ISRC)
	b = appendCell(append(b, ','), l.RecordingMBID)
	b = append(b, ',')
	b = strconv.AppendBool(b, l.Approximate)
	b = append(b, ',')
	for i, s := range l.Sources {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(append(b, url.QueryEscape(string(s.Connection))...), '=')
		b = append(b, url.QueryEscape(s.SourceID)...)
	}
	return append(b, '\n')
}

// appendLength appends the length of a listen's track in milliseconds, or nothing if it is unknown.
func appendLength(b []byte, l *library.StoredListen) []byte {
	if ms := l.Duration.Milliseconds(); ms != 0 {
		return strconv.AppendInt(b, ms, 10)
	}
	return b
}

// appendScrobble appends a listen as a row of LastFM.
func appendScrobble(b []byte, l *library.StoredListen) []byte {
	b = strconv.AppendInt(b, l.PlayedAt.Unix(), 10)
	b = append(b, `,"`...)
	b = l.PlayedAt.UTC().AppendFormat(b, "02 Jan 2006, 15:04")
	b = append(b, `",`...)
	b = appendCell(b, l.Artist)
	b = appendCell(append(b, ",,"...), l.Album)
	b = appendCell(append(b, ",,"...), l.Title)
	b = appendCell(append(b, ','), l.RecordingMBID)
	return append(appendLength(append(b, ','), l), '\n')
}
