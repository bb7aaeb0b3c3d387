package navidrome

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise/internal/library"

	"golang.org/x/text/unicode/norm"
)

const (
	songsPerSearch = 20
	// lengthSlack is how far apart the lengths of two copies of one recording are: servers round, encoders pad.
	lengthSlack = 5 * time.Second
)

// Find implements providers.PlaylistWriter. Servers search differently: one wants every word to stand somewhere in a
// song's names, another the whole text in the title alone; so the first question that has an answer counts.
func (a *adapter) Find(ctx context.Context, t library.Track) ([]library.Track, error) {
	for _, query := range queries(t) {
		r, err := a.call(ctx, "search3", url.Values{
			"query": {query}, "songCount": {strconv.Itoa(songsPerSearch)}, "artistCount": {"0"}, "albumCount": {"0"},
		})
		if err == nil && r.SearchResult3 == nil {
			err = r.lacks("searchResult3")
		}
		if err != nil { // what a search does not find is no error: a missing thing is the method
			return nil, whole(err)
		}
		songs := make([]library.Track, 0, len(r.SearchResult3.Song))
		for _, s := range r.SearchResult3.Song {
			if s.ID != "" && len(songs) < songsPerSearch { // some servers do not count
				songs = append(songs, s.track())
			}
		}
		if len(songs) > 0 {
			return songs, nil
		}
	}
	return nil, nil
}

// queries are what to search for, the most telling first.
func queries(t library.Track) []string {
	title := before(t.Title, " (", " [", " - ", " feat")
	artist := before(t.Artist, ",", ";", " feat", " & ", " • ", " / ")
	var all []string
	for _, q := range []string{title + " " + artist, t.Title, title} {
		q = strings.Join(strings.FieldsFunc(q, func(r rune) bool { return r == '"' || r == '*' || unicode.IsSpace(r) }), " ")
		if q != "" && !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// before is name up to the first of the marks; a mark at the very start is part of the name.
func before(name string, marks ...string) string {
	end := len(name)
	for _, mark := range marks {
		if i := strings.Index(name, mark); i > 0 {
			end = min(end, i)
		}
	}
	return name[:end]
}

// choose is the default of Config.Choose. Of several copies it prefers one on the same album, then the one whose length
// is the nearest.
func choose(t library.Track, songs []library.Track) (library.Track, bool) {
	var best library.Track
	bestScore := 0
	for _, s := range songs {
		if score := likeness(&t, &s); score > bestScore {
			best, bestScore = s, score
		}
	}
	return best, bestScore > 0
}

// likeness is 0 for another song, and grows with the certainty that s is t.
func likeness(t, s *library.Track) int {
	switch {
	case t.RecordingMBID != "" && strings.EqualFold(t.RecordingMBID, s.RecordingMBID):
		return 4000
	case t.ISRC != "" && strings.EqualFold(t.ISRC, s.ISRC):
		return 3000
	case normal(t.Title) != normal(s.Title) || normal(t.Artist) != normal(s.Artist):
		return 0
	}
	score := 1000
	if t.Duration > 0 && s.Duration > 0 {
		apart := (t.Duration - s.Duration).Abs()
		if apart > lengthSlack {
			return 0
		}
		score -= int(apart / (100 * time.Millisecond))
	}
	if t.Album != "" && normal(t.Album) == normal(s.Album) {
		score += 1000
	}
	return score
}

// normal keeps letters and digits, in lower case and without accents. A name of symbols only stays as it is.
func normal(name string) string {
	kept := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(name))
	if kept == "" {
		return name
	}
	return kept
}
