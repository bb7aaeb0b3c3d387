package navidrome

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Rows per page, by the cost of a page at the server.
const (
	scrobblePage = 500 // small rows
	songPage     = 200 // rows of several kB
	joinPage     = 100 // ids in one URL, which many proxies bound to 8 kB
	albumPage    = 20  // one call each
	// barrenAlbums is the number of albums in a row without a known play after which the server is assumed to report
	// none.
	barrenAlbums = 3
	// lateness is how long after a play it may still be submitted. An offline phone submits its plays when it is back.
	lateness = 24 * time.Hour
)

// errNoScrobbles means that this Navidrome is too old to have the list of single plays.
var errNoScrobbles = errors.New("no list of plays")

// listenYield receives a page of plays and reports whether to continue. The readers below return nil when it reports
// false.
type listenYield = func(providers.ListenPage, error) bool

// Listens reads plays from the best source that this server has: every single play from Navidrome 0.63 on, the last
// play and the number of plays of each song before, and the same from the recently played albums elsewhere. A server
// that reports no plays at all offers no listens.
//
// A play's SourceID consists of the song's id and the second of the play for all sources. A play that a client reports
// twice is therefore one play, and it stays the same when the server is upgraded.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield listenYield) {
		if err := a.ready(ctx); err != nil {
			yield(providers.ListenPage{}, err)
			return
		}
		read := a.albumListens
		if a.native {
			read = a.nativeListens
		}
		if err := read(ctx, span, yield); err != nil {
			yield(providers.ListenPage{}, err)
		}
	}
}

func (a *adapter) nativeListens(ctx context.Context, span library.Span, yield listenYield) error {
	err := a.scrobbles(ctx, span, yield)
	if errors.Is(err, errNoScrobbles) {
		return a.songListens(ctx, span, yield)
	}
	return err
}

// scrobbles reads single plays. Its bounds are inclusive, so that it misses no play within the bounding seconds, and
// it starts earlier than the span by lateness.
func (a *adapter) scrobbles(ctx context.Context, span library.Span, yield listenYield) error {
	query := url.Values{"_sort": {"submission_time"}, "_order": {"DESC"}}
	if from := span.After; !from.IsZero() {
		if span.Before.IsZero() {
			from = from.Add(-lateness)
		}
		query.Set("from", strconv.FormatInt(from.Unix(), 10))
	}
	if !span.Before.IsZero() {
		query.Set("to", strconv.FormatInt(span.Before.Unix(), 10))
	}
	songs := map[text]*library.Track{}
	for start := 0; ; start += scrobblePage {
		query.Set("_start", strconv.Itoa(start))
		query.Set("_end", strconv.Itoa(start+scrobblePage))
		var rows []scrobble
		answer, err := a.get(ctx, "GET /api/scrobble", []string{"api", "scrobble"}, query, &rows)
		if start == 0 && notThere(err) {
			return errNoScrobbles
		}
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		if slices.ContainsFunc(rows, scrobble.broken) {
			return &resilience.ContractError{Endpoint: answer.Endpoint, What: "a play without its song or time"}
		}
		if err := a.join(ctx, rows, songs); err != nil {
			return err
		}
		total, err := totalOf(answer)
		if err != nil {
			return err
		}
		page := providers.ListenPage{Listens: plays(rows, songs), Oldest: rows[len(rows)-1].SubmissionTime.Time,
			Total: total}
		if !yield(page, nil) || len(rows) < scrobblePage {
			return nil
		}
	}
}

// CountPlays implements providers.PlayCounter.
func (a *adapter) CountPlays(ctx context.Context, before time.Time) (int, error) {
	return a.count(ctx, time.Time{}, before)
}

// CountBetween implements providers.Historian.
func (a *adapter) CountBetween(ctx context.Context, from, before time.Time) (int, error) {
	return a.count(ctx, from, before.Add(-time.Second))
}

// count returns how many plays there are between two times, the bounding seconds included; zero for no bound. Only
// Navidrome from 0.63 on counts single plays.
func (a *adapter) count(ctx context.Context, from, to time.Time) (int, error) {
	if err := a.ready(ctx); err != nil {
		return 0, err
	}
	if !a.native {
		return 0, providers.ErrNotOffered
	}
	query := url.Values{"_sort": {"submission_time"}, "_order": {"DESC"}, "_start": {"0"}, "_end": {"1"},
		"to": {strconv.FormatInt(to.Unix(), 10)}}
	if !from.IsZero() {
		query.Set("from", strconv.FormatInt(from.Unix(), 10))
	}
	var rows []scrobble
	answer, err := a.get(ctx, "GET /api/scrobble", []string{"api", "scrobble"}, query, &rows)
	if notThere(err) {
		return 0, providers.ErrNotOffered
	}
	if err != nil {
		return 0, err
	}
	if answer.Header.Get("X-Total-Count") == "" {
		return 0, providers.ErrNotOffered
	}
	return totalOf(answer)
}

// totalOf returns the number of rows in the whole listing; 0 if the answer does not tell.
func totalOf(answer *resilience.Answer) (int, error) {
	told := answer.Header.Get("X-Total-Count")
	if told == "" {
		return 0, nil
	}
	total, err := strconv.Atoi(told)
	if err != nil || total < 0 {
		return 0, &resilience.ContractError{Endpoint: answer.Endpoint, What: "an X-Total-Count that is no count"}
	}
	return total, nil
}

func plays(rows []scrobble, songs map[text]*library.Track) []library.Listen {
	listens := make([]library.Listen, 0, len(rows))
	seen := make(map[scrobble]bool, len(rows))
	for _, row := range rows {
		if t := songs[row.MediaFileID]; t != nil && !seen[row] {
			seen[row] = true
			listens = append(listens, listen(*t, row.SubmissionTime.Time, 0))
		}
	}
	return listens
}

func listen(t library.Track, at time.Time, count number) library.Listen {
	return library.Listen{Track: t, SourceID: t.SourceID + "@" + strconv.FormatInt(at.Unix(), 10), PlayedAt: at,
		PlayCount: int(count)}
}

// join looks up the songs of the plays that are not in songs yet. It stores nil for songs that were deleted.
func (a *adapter) join(ctx context.Context, rows []scrobble, songs map[text]*library.Track) error {
	wanted := map[text]bool{}
	for _, row := range rows {
		if _, known := songs[row.MediaFileID]; !known {
			wanted[row.MediaFileID] = true
		}
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(wanted)), joinPage) {
		query := url.Values{"_start": {"0"}, "_end": {strconv.Itoa(len(ids))}}
		for _, id := range ids {
			query.Add("id", string(id))
		}
		var found []ownSong
		if _, err := a.get(ctx, "GET /api/song", []string{"api", "song"}, query, &found); err != nil {
			return err
		}
		for _, s := range found {
			t := s.track()
			songs[s.ID] = &t
		}
		for _, id := range ids {
			if songs[id] == nil { // lists omit files that are missing on disk
				if err := a.lookUp(ctx, id, songs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (a *adapter) lookUp(ctx context.Context, id text, songs map[text]*library.Track) error {
	songs[id] = nil
	var s ownSong
	_, err := a.get(ctx, "GET /api/song/{id}", []string{"api", "song", url.PathEscape(string(id))}, nil, &s)
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && notThere(err) && json.Valid(e.Body) {
		return nil // Navidrome answers in JSON; a proxy's 404 is plain text
	}
	if err != nil {
		return err
	}
	if s.broken() {
		return &resilience.ContractError{Endpoint: "GET /api/song/{id}", What: "a song without an id"}
	}
	t := s.track()
	songs[id] = &t
	return nil
}

// songListens reads the last play of each song, the latest first.
func (a *adapter) songListens(ctx context.Context, span library.Span, yield listenYield) error {
	query := url.Values{"_sort": {"play_date"}, "_order": {"DESC"}}
	for start := 0; ; start += songPage {
		query.Set("_start", strconv.Itoa(start))
		query.Set("_end", strconv.Itoa(start+songPage))
		var rows []ownSong
		if _, err := a.get(ctx, "GET /api/song", []string{"api", "song"}, query, &rows); err != nil {
			return err
		}
		if slices.ContainsFunc(rows, ownSong.broken) {
			return &resilience.ContractError{Endpoint: "GET /api/song", What: "a song without an id"}
		}
		var page providers.ListenPage
		done := len(rows) < songPage
		for i := range rows {
			at := rows[i].PlayDate.Time
			if at.IsZero() || !at.After(span.After) {
				done = true
				break
			}
			page.Oldest = at
			if span.Before.IsZero() || !at.After(span.Before) {
				page.Listens = append(page.Listens, listen(rows[i].track(), at, rows[i].PlayCount))
			}
		}
		if len(page.Listens) > 0 && !yield(page, nil) || done {
			return nil
		}
	}
}

// albumListens reads the last play of each song from the recently played albums. The list is sorted by the last play,
// so that after each page no play later than its last album is missing.
func (a *adapter) albumListens(ctx context.Context, span library.Span, yield listenYield) error {
	w := albumWalk{span: span}
	for offset := 0; !w.done; offset += albumPage {
		r, err := a.ask(ctx, "getAlbumList2", url.Values{
			"type": {"recent"}, "size": {strconv.Itoa(albumPage)}, "offset": {strconv.Itoa(offset)},
		})
		if err != nil {
			return err
		}
		if r.AlbumList2 == nil {
			return r.lacks("albumList2")
		}
		w.page = providers.ListenPage{}
		for _, al := range r.AlbumList2.Album {
			w.told = w.told || !al.Played.IsZero()
			if w.done = !al.Played.IsZero() && !al.Played.After(span.After); w.done {
				break
			}
			songs, err := a.albumSongs(ctx, al.ID)
			if err != nil {
				return err
			}
			if w.add(al, songs); w.done {
				break
			}
		}
		w.done = w.done || len(r.AlbumList2.Album) < albumPage
		slices.SortStableFunc(w.page.Listens, func(x, y library.Listen) int { return y.PlayedAt.Compare(x.PlayedAt) })
		if w.tells() && !yield(w.page, nil) {
			return nil
		}
	}
	if !w.told && (w.silent || a.plain) {
		return providers.ErrNotOffered
	}
	return nil
}

// albumSongs returns the songs of one album, or none when the album was deleted.
func (a *adapter) albumSongs(ctx context.Context, id text) ([]song, error) {
	r, err := a.ask(ctx, "getAlbum", url.Values{"id": {string(id)}})
	switch {
	case resilience.IsItem(err):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Album == nil:
		return nil, r.lacks("album")
	}
	return r.Album.Song, nil
}

// albumWalk goes down the list of recently played albums.
type albumWalk struct {
	span   library.Span
	page   providers.ListenPage
	barren int  // albums in a row without a known play
	silent bool // an album in the list of those that were played had songs, and none with a play
	told   bool // the server tells when something was played
	done   bool
}

// add adds the plays of one album. The walk is done when the album was played before the span, or when the server
// seems to report no plays.
func (w *albumWalk) add(al album, songs []song) {
	latest, known := al.Played.Time, false
	for i := range songs {
		at := songs[i].Played.Time
		if at.IsZero() {
			continue
		}
		known = true
		if at.After(latest) {
			latest = at
		}
		if songs[i].music() && at.After(w.span.After) && (w.span.Before.IsZero() || !at.After(w.span.Before)) {
			w.page.Listens = append(w.page.Listens, listen(songs[i].track(), at, songs[i].PlayCount))
		}
	}
	w.told, w.silent = w.told || known, w.silent || len(songs) > 0 && !known
	if known {
		w.barren = 0
	} else {
		w.barren++
	}
	w.done = w.barren >= barrenAlbums || !latest.IsZero() && !latest.After(w.span.After)
	if known {
		w.page.Oldest = latest
	}
}

// tells reports whether the page has plays or reaches back before the end of the span. Albums that an earlier run has
// read do not count as a page of this one.
func (w *albumWalk) tells() bool {
	return len(w.page.Listens) > 0 || !w.page.Oldest.IsZero() &&
		(w.span.Before.IsZero() || w.page.Oldest.Before(w.span.Before))
}
