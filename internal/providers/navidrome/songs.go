package navidrome

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// songsPerPage is how many songs are asked for at once: the most that servers give.
const songsPerPage = 500

// Songs implements providers.SongSource: a search for nothing finds everything, as OpenSubsonic demands. A server that
// wants something to look for, or goes on giving the same page, doesn't list its songs. Some give fewer at once than
// they are asked for, so that only an empty page is the end.
func (a *adapter) Songs(ctx context.Context) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		for offset, before := 0, ""; ; {
			r, err := a.ask(ctx, "search3", url.Values{"query": {""}, "songCount": {strconv.Itoa(songsPerPage)},
				"songOffset": {strconv.Itoa(offset)}, "artistCount": {"0"}, "albumCount": {"0"}})
			if err == nil && r.SearchResult3 == nil {
				err = r.lacks("searchResult3")
			}
			if refused(err, codeMissing) {
				err = providers.ErrNotOffered
			}
			if err != nil {
				yield(nil, err)
				return
			}
			page := make([]library.Track, len(r.SearchResult3.Song))
			for i, s := range r.SearchResult3.Song {
				page[i] = s.track()
			}
			if len(page) > 0 && offset > 0 && page[0].SourceID == before {
				if len(page) == songsPerPage { // else it has given all that it has, and ignores the offset
					yield(nil, providers.ErrNotOffered)
				}
				return
			}
			if !yield(page, nil) || len(page) == 0 {
				return
			}
			before, offset = page[0].SourceID, offset+len(page)
		}
	}
}
