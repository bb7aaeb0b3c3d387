package navidrome

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// The limits of looking for one song; docs/matching.md gives them.
const (
	mostSearches = 8   // calls
	firstPage    = 100 // songs of the first answer to a query
	laterPages   = 500 // songs of each further answer
	mostFound    = 30  // songs that are returned; see providers.PlaylistWriter
	albumsLooked = 5   // albums of a name whose songs may be read
)

// Find implements providers.PlaylistWriter. Servers search differently: Navidrome compares every word with all names of
// a song; gonic and supysonic compare the whole text, letter by letter, with the title. So it asks in several ways, in
// at most 8 calls, until a song is surely t. A failed call fails the whole search.
func (a *adapter) Find(ctx context.Context, t library.Track) ([]library.Track, error) {
	l := &lookup{adapter: a, want: t, calls: mostSearches, seen: map[string]bool{}}
	if err := l.run(ctx); err != nil {
		return nil, whole(err) // a search without hits is not an error, so code 70 means that the method is missing
	}
	if len(l.hits) <= mostFound {
		return l.hits, nil
	}
	return match.Nearest(t, l.hits, mostFound), nil
}

// lookup is the search for one song.
type lookup struct {
	*adapter
	want    library.Track
	calls   int // left
	hits    []library.Track
	seen    map[string]bool // SourceIDs of hits
	queries []query
}

// query is a text that was searched for.
type query struct {
	text string
	read int  // songs of its answers
	more bool // there are more
}

// run searches until the song is surely found, or nothing is left to ask.
func (l *lookup) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{l.byWords, l.byTitle, l.byAlbum, l.further} {
		if l.calls == 0 || l.settled() {
			break
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// byWords asks for the words of title and artist that are written in one way only. Of Navidrome it also asks for the
// first of the title's, because some write the others as one word with it, and for the title alone, which finds artists
// that are written otherwise. Servers that compare the title alone find nothing by the artist.
func (l *lookup) byWords(ctx context.Context) error {
	title, artist := plainWords(coreTitle(l.want.Title)), plainWords(firstArtist(l.want.Artist))
	if l.titlesOnly || title == "" {
		return nil
	}
	first, _, _ := strings.Cut(title, " ")
	for i, words := range []string{title + " " + artist, first + " " + artist, title} {
		if i > 0 && (!l.navidrome || l.settled()) {
			break
		}
		if err := l.search(ctx, strings.TrimSpace(words)); err != nil {
			return err
		}
	}
	return nil
}

// byTitle asks for the title as it may be written elsewhere, and for its longest part that everybody writes alike.
func (l *lookup) byTitle(ctx context.Context) error {
	if l.navidrome && plainWords(coreTitle(l.want.Title)) != "" {
		return nil // it ignores what these texts differ in
	}
	none := len(l.hits) == 0
	for _, text := range spellings(l.want.Title) {
		if err := l.search(ctx, text); err != nil {
			return err
		}
		if l.settled() {
			l.titlesOnly = l.titlesOnly || none && len(l.queries) > 1
			return nil
		}
	}
	return nil
}

// byAlbum asks for the album, if it is known and the title does not name few enough songs, and reads its songs.
func (l *lookup) byAlbum(ctx context.Context) error {
	name := longestPlain(coreTitle(l.want.Album))
	if l.navidrome || name == "" || l.calls < 2 {
		return nil
	}
	r, err := l.ask(ctx, name, 0, 0, albumsLooked)
	if err != nil {
		return err
	}
	for _, found := range r.SearchResult3.Album {
		if l.calls == 0 || l.settled() {
			break
		}
		if match.SameAlbum(l.want.Album, cmpName(found.Name, found.Title)) && found.ID != "" {
			l.calls--
			r, err := l.adapter.ask(ctx, "getAlbum", url.Values{"id": {string(found.ID)}})
			if resilience.IsItem(err) || errors.Is(err, providers.ErrNotOffered) {
				continue // it is gone, or the server has no albums
			}
			if err != nil {
				return err
			}
			if r.Album != nil {
				l.add(r.Album.Song)
			}
		}
	}
	return nil
}

// further reads on in answers that did not hold all songs, as with the title "Go".
func (l *lookup) further(ctx context.Context) error {
	for i := range l.queries {
		for q := &l.queries[i]; q.more && l.calls > 0 && !l.settled(); {
			if err := l.page(ctx, q, laterPages); err != nil {
				return err
			}
		}
	}
	return nil
}

// search asks for a text, unless the answer is known: a text that is part of it was asked for and its answer was whole.
func (l *lookup) search(ctx context.Context, text string) error {
	folded := smallASCII(text)
	known := func(q query) bool { return !q.more && strings.Contains(folded, smallASCII(q.text)) }
	if text == "" || l.calls == 0 || slices.ContainsFunc(l.queries, known) {
		return nil
	}
	q := query{text: text}
	err := l.page(ctx, &q, firstPage)
	l.queries = append(l.queries, q)
	return err
}

// page reads the next songs of a query.
func (l *lookup) page(ctx context.Context, q *query, size int) error {
	r, err := l.ask(ctx, q.text, q.read, size, 0)
	if err != nil {
		return err
	}
	songs := r.SearchResult3.Song
	fresh := l.add(songs)
	q.read += len(songs)
	q.more = len(songs) == size && fresh > 0 // some servers ignore the offset
	return nil
}

// ask makes one call of search3.
func (l *lookup) ask(ctx context.Context, text string, offset, songs, albums int) (*response, error) {
	l.calls--
	params := url.Values{"query": {text}, "songCount": {strconv.Itoa(songs)},
		"artistCount": {"0"}, "albumCount": {strconv.Itoa(albums)}}
	if offset > 0 {
		params.Set("songOffset", strconv.Itoa(offset))
	}
	r, err := l.adapter.ask(ctx, "search3", params)
	if err == nil && r.SearchResult3 == nil {
		err = r.lacks("searchResult3")
	}
	return r, err
}

// add adds songs to the hits and returns how many are new.
func (l *lookup) add(songs []song) (fresh int) {
	for _, s := range songs {
		if id := string(s.ID); id != "" && !l.seen[id] {
			l.seen[id] = true
			l.hits = append(l.hits, s.track())
			fresh++
		}
	}
	return fresh
}

// settled reports whether a hit is surely the song and no other hit can change that. By the names alone that takes the
// whole answer: another recording of the same name may be in the rest.
func (l *lookup) settled() bool {
	m := match.Choose(l.want, l.hits)
	switch m.How {
	case match.ByISRC, match.ByMBID:
		return true
	case match.ByName:
		return match.SameLength(l.want, m.Found) ||
			!slices.ContainsFunc(l.queries, func(q query) bool { return q.more })
	}
	return false
}

// smallASCII returns a text as SQLite's LIKE compares it.
func smallASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func cmpName(names ...text) string {
	for _, n := range names {
		if n != "" {
			return string(n)
		}
	}
	return ""
}
