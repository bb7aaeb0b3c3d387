package navidrome

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reprise/internal/library"
)

const songsPerSearch = 20

// Find implements providers.PlaylistWriter. Servers search differently: some match every word against all names of a
// song, others the whole text against the title. So it returns the hits of the first query that has any.
func (a *adapter) Find(ctx context.Context, t library.Track) ([]library.Track, error) {
	for _, query := range queries(t) {
		r, err := a.call(ctx, "search3", url.Values{
			"query": {query}, "songCount": {strconv.Itoa(songsPerSearch)}, "artistCount": {"0"}, "albumCount": {"0"},
		})
		if err == nil && r.SearchResult3 == nil {
			err = r.lacks("searchResult3")
		}
		if err != nil { // a search without hits is not an error, so code 70 means that the method is missing
			return nil, whole(err)
		}
		songs := make([]library.Track, 0, len(r.SearchResult3.Song))
		for _, s := range r.SearchResult3.Song {
			if s.ID != "" && len(songs) < songsPerSearch { // some servers ignore the limit
				songs = append(songs, s.track())
			}
		}
		if len(songs) > 0 {
			return songs, nil
		}
	}
	return nil, nil
}

// queries returns the search texts, the most specific first.
func queries(t library.Track) []string {
	title := before(t.Title, " (", " [", " - ", " feat")
	artist := before(t.Artist, ",", ";", " feat", " & ", " • ", " / ")
	var all []string
	for _, q := range []string{title + " " + artist, t.Title, title} {
		words := strings.FieldsFunc(q, func(r rune) bool { return r == '"' || r == '*' || unicode.IsSpace(r) })
		q = strings.Join(words, " ")
		if q != "" && !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// before returns name up to the first of the marks. A mark at the start is part of the name.
func before(name string, marks ...string) string {
	end := len(name)
	for _, mark := range marks {
		if i := strings.Index(name, mark); i > 0 {
			end = min(end, i)
		}
	}
	return name[:end]
}
