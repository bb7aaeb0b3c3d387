package search

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// shared is what another application has handed over, as far as it can be read without asking anybody.
type shared struct {
	From *providers.Provider // whose link it is; nil for none that is known
	providers.Link
	Text string // what is to be searched for
}

// mostShared is how much of each field is read, in bytes.
const mostShared = 2000

var (
	// address matches web addresses, with or without the scheme, and such as "spotify:track:…".
	address = regexp.MustCompile(`(?i)https?://\S+|\b(?:[a-z0-9-]+\.)+[a-z]{2,}/\S+|\b[a-z]+:[a-z]+:\w+`)
	// noise is what services and their pages say beside the name of a song.
	noise = regexp.MustCompile(`(?i)\s*(?:[([][^)\]]*\b(?:official|lyrics?|audio|video|visuali[sz]er)\b[^)\]]*[)\]])`)
	// credited is how pages are titled: "Jóga - song and lyrics by Björk".
	credited = regexp.MustCompile(`(?i)^(.+) - (?:song(?: (?:and|und) lyrics)?|album|single|ep) (?:by|von) (.+)$`)
	dash     = regexp.MustCompile(`\s+[-–—]\s+`)
)

// readShared reads the fields that an application fills in when somebody shares something. Most put a link into the
// text, some into the field for it, and few give the name of the song.
func readShared(known []*providers.Provider, title, text, link string) (s shared) {
	fields := []*string{&link, &text, &title}
	for _, f := range fields {
		*f = strings.ToValidUTF8((*f)[:min(len(*f), mostShared)], "")
		*f = address.ReplaceAllStringFunc(*f, func(found string) string {
			for _, p := range known {
				if one, ok := p.ReadLink(strings.TrimRight(found, ".,;!?)\"'»”")); ok {
					if s.From == nil {
						s.From, s.Link = p, one
					}
					return " "
				}
			}
			if strings.Contains(found, "://") {
				return " "
			}
			return found
		})
		*f = strings.Join(strings.Fields(noise.ReplaceAllString(*f, "")), " ")
		for _, p := range known { // the end of the title of a page
			for _, end := range []string{" - " + p.DisplayName, " - " + p.DisplayName + " Music",
				" | " + p.DisplayName} {
				*f = strings.TrimSuffix(*f, end)
			}
		}
	}
	if s.Track.Title == "" && s.Track.Artist == "" {
		s.Text = strings.Trim(cmp.Or(title, text, link), "-–—|:,. ")
		if !strings.ContainsFunc(s.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			s.Text = "" // nothing that could be searched for
		}
		s.Track = namesIn(s.Text)
		switch s.Kind {
		case library.KindAlbum:
			s.Track.Album, s.Track.Title = s.Track.Title, ""
		case library.KindArtist:
			s.Track = library.Track{Artist: s.Text}
		}
	} else {
		s.Text = strings.TrimSpace(s.Track.Artist + " " + cmp.Or(s.Track.Title, s.Track.Album))
	}
	return s
}

// namesIn returns the names in "Artist – Title", or as pages are titled; none of other texts.
func namesIn(text string) library.Track {
	if m := credited.FindStringSubmatch(text); m != nil {
		return library.Track{Title: m[1], Artist: m[2]}
	}
	if parts := dash.Split(text, 2); len(parts) == 2 {
		return library.Track{Title: parts[1], Artist: parts[0]}
	}
	return library.Track{}
}
