package youtube

import (
	"regexp"
	"strings"
	"time"

	"reprise/internal/library"
)

// topic is the suffix of the channels that YouTube generates for artists. Their videos have plain titles.
const topic = " - Topic"

var (
	// noise matches remarks in brackets that concern the video and not the music.
	noise = regexp.MustCompile(
		`(?i)\s*[(\[][^()\[\]]*\b(?:official|lyrics?|video|audio|visuali[sz]er|clip|hd|hq|4k|m/?v)\b[^()\[\]]*[)\]]`)
	// dash separates artist and title: any hyphen or dash between spaces.
	dash   = regexp.MustCompile(`\s+[-‐‑–—−]\s+`)
	vevo   = regexp.MustCompile(`(?i)vevo$`)
	length = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`)
)

// nameOf returns artist and title from the names of a video and its channel.
func nameOf(title, channel string) library.Track {
	if artist, ok := strings.CutSuffix(channel, topic); ok {
		return library.Track{Title: title, Artist: artist}
	}
	plain := strings.TrimSpace(noise.ReplaceAllString(title, ""))
	if plain == "" {
		plain = title
	}
	if at := dash.FindStringIndex(plain); at != nil && at[0] > 0 && at[1] < len(plain) {
		return library.Track{Title: plain[at[1]:], Artist: strings.TrimSpace(plain[:at[0]])}
	}
	artist := strings.TrimSpace(vevo.ReplaceAllString(channel, ""))
	if artist == "" {
		artist = channel
	}
	return library.Track{Title: plain, Artist: artist}
}

// parseLength parses an ISO 8601 duration such as PT4M13S. It returns 0 for an invalid one.
func parseLength(text string) time.Duration {
	m := length.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	var d time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n := int64(0)
		for _, digit := range m[i+1] {
			n = min(n*10+int64(digit-'0'), 1_000_000)
		}
		d += time.Duration(n) * unit
	}
	return d
}
