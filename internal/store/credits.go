package store

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"reprise/internal/library"
)

// leadMarks separate an artist from a guest, or artists in a tag. They leave out "&", "and" and the comma, which also
// occur in names.
var leadMarks = []string{"; ", " • ", " feat.", " feat ", " featuring ", " ft.", " ft ", " (feat.", " (feat ",
	" (featuring ", " (ft.", " (ft ", " [feat.", " [feat ", " [ft.", " [ft "}

// listMarks separate artists where each of them is known; elsewhere they may be part of a name. Among guests, so do
// guestMarks.
var (
	listMarks  = []string{", "}
	guestMarks = []string{", ", " & ", " and "}
)

// mostMarks is the most marks that are looked at in one text.
const mostMarks = 8

// cutting is where a mark separates a text: what is before it ends, and what is after it begins.
type cutting struct{ end, begin int }

// cuttings returns where marks separate a text. Marks at its very start or end separate nothing.
func cuttings(text string, marks []string) (all []cutting) {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		return nil
	}
	for i := 1; i < len(lower) && len(all) < mostMarks; i++ {
		size := 0
		for _, mark := range marks {
			if len(mark) > size && strings.HasPrefix(lower[i:], mark) {
				size = len(mark)
			}
		}
		if size > 0 && i+size < len(lower) {
			all = append(all, cutting{i, i + size})
			i += size - 1
		}
	}
	return all
}

// before and after return the names on the two sides of a mark.
func (c cutting) before(text string) string { return strings.TrimRight(text[:c.end], " ([") }
func (c cutting) after(text string) string  { return strings.Trim(text[c.begin:], " ()[]") }

// partsOf returns the names between marks; the text itself if there are none.
func partsOf(text string, marks []string) (all []string) {
	from := 0
	for _, c := range cuttings(text, marks) {
		all = append(all, strings.TrimSpace(text[from:c.end]))
		from = c.begin
	}
	return append(all, strings.TrimSpace(text[from:]))
}

// namesIn returns the artists in a text: the first one, then the guests. alone says whether a name is known as that of
// one artist: such a name is never separated.
func namesIn(text string, alone func(name string) bool) (all []string) {
	marks := listMarks
	for text != "" {
		name, rest := text, ""
		if !alone(text) {
			name, rest = cutLead(text, alone)
		}
		all = append(all, listIn(name, marks, alone)...)
		text, marks = rest, guestMarks
	}
	return all
}

// cutLead cuts a text at the first mark, or after the longest name that is known.
func cutLead(text string, alone func(string) bool) (lead, rest string) {
	all := cuttings(text, leadMarks)
	if len(all) == 0 {
		return text, ""
	}
	cut := all[0]
	for _, c := range slices.Backward(all) {
		if alone(c.before(text)) {
			cut = c
			break
		}
	}
	return cut.before(text), cut.after(text)
}

// listIn returns the artists in a list, if each of them is known and the whole text is not one's name.
func listIn(text string, marks []string, alone func(string) bool) []string {
	parts := partsOf(text, marks)
	if len(parts) == 1 || alone(text) || !allOf(parts, alone) {
		return []string{text}
	}
	return parts
}

func allOf(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !is(name) })
}

// possible returns the names that namesIn may ask for.
func possible(text string) (all []string) {
	cuts := cuttings(text, leadMarks)
	ends, begins := []int{len(text)}, []int{0}
	for _, c := range cuts {
		ends, begins = append(ends, c.end), append(begins, c.begin)
	}
	for _, from := range begins {
		for _, to := range ends {
			if from < to {
				name := strings.TrimRight(strings.Trim(text[from:to], " ()[]"), " ([")
				all = append(append(all, name), partsOf(name, guestMarks)...)
				all = append(all, partsOf(name, listMarks)...)
			}
		}
	}
	return all
}

// composed reports whether a text may name several artists.
func composed(text string) bool {
	return len(cuttings(text, leadMarks)) > 0 || len(cuttings(text, listMarks)) > 0
}

// lists reports whether the service has listed the artists of a track in a way that its text does not show.
func lists(t library.Track) bool {
	return len(t.Artists) > 1 || len(t.Artists) == 1 && (t.Artists[0].Name != t.Artist || composed(t.Artist))
}

// creditsOf returns the artists of a track: those that its service has listed, or those in the text. Nobody in
// particular is no artist.
func creditsOf(t library.Track, alone func(name string) bool) (all []library.Credit) {
	told := t.Artists
	if len(told) == 0 {
		for _, name := range namesIn(t.Artist, alone) {
			told = append(told, library.Credit{Name: name})
		}
	}
	seen := map[int64]bool{}
	for _, c := range told {
		c.Name = indexed(c.Name)
		if key := artistKey(c.Name); c.Name != "" && !manyArtists[normal(c.Name)] && !seen[key] {
			seen[key] = true
			all = append(all, c)
		}
	}
	return all
}

// manyArtists are what services write where there are too many artists to name, as normal returns them.
var manyArtists = map[string]bool{"variousartists": true, "variousartist": true, "verschiedeneinterpreten": true,
	"diverseinterpreten": true, "verschiedenekunstler": true, "artistesvaries": true, "variosartistas": true,
	"artistivari": true}

// artistKey returns the key of one artist.
func artistKey(artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(normal(artist)))
	return int64(h.Sum64())
}

// credit is what is known of the artists of a track.
type credit struct {
	track   int64
	artists []int64 // the first one first
	listed  bool    // see migration 25
	stored  int     // how many of them are stored
	instead bool    // of those that are stored
}

// saveCredits stores the artists of tracks. What a service lists takes the place of what was read out of a text.
func saveCredits(ctx context.Context, tx *sql.Tx, told []credit) error {
	known, err := knownCredits(ctx, tx, told)
	if err != nil {
		return err
	}
	var order []int64
	for _, c := range told {
		k := known[c.track]
		if k == nil {
			k = &credit{track: c.track, listed: c.listed}
			known[c.track] = k
		}
		order = append(order, c.track)
		switch {
		case c.listed && !k.listed:
			*k = credit{track: c.track, artists: c.artists, listed: true, instead: k.stored > 0}
		case c.listed == k.listed && (!k.listed || len(k.artists) == 0):
			for _, a := range c.artists {
				if !slices.Contains(k.artists, a) {
					k.artists = append(k.artists, a)
				}
			}
		}
	}
	var rows []any
	for _, track := range order {
		c := known[track]
		if c.instead {
			err = errors.Join(err, execTx(ctx, tx, "DELETE FROM track_artists WHERE track_id = $1", track))
		}
		for i := c.stored; i < len(c.artists); i++ {
			rows = append(rows, track, c.artists[i], i, flag(c.listed))
		}
		c.stored, c.instead = len(c.artists), false
	}
	return errors.Join(err, insertRows(ctx, tx,
		"INSERT INTO track_artists (track_id, artist_id, position, listed)", 4, rows, ""))
}

// knownCredits returns what is stored of the artists of these tracks.
func knownCredits(ctx context.Context, tx *sql.Tx, of []credit) (map[int64]*credit, error) {
	known := make(map[int64]*credit, len(of))
	type row struct {
		track, artist int64
		listed        bool
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.track, &v.artist, &v.listed) }
	for chunk := range slices.Chunk(of, 200) {
		args := make([]any, len(chunk))
		for i, c := range chunk {
			args[i] = c.track
		}
		rows, err := list(ctx, tx, scan, `SELECT track_id, artist_id, listed FROM track_artists WHERE track_id IN `+
			numbered(1, len(args))+" ORDER BY track_id, position", args...)
		if err != nil {
			return nil, err
		}
		for _, v := range rows {
			if known[v.track] == nil {
				known[v.track] = &credit{track: v.track, listed: v.listed}
			}
			c := known[v.track]
			if !slices.Contains(c.artists, v.artist) { // a track may be in two chunks
				c.artists, c.stored = append(c.artists, v.artist), c.stored+1
			}
		}
	}
	return known, nil
}

// standAlone gives the tracks of a name that was taken for several artists until now to the one artist that it is.
func standAlone(ctx context.Context, tx *sql.Tx, name string, artist int64) error {
	key := foldKey(name)
	const tracks = "SELECT track_id FROM spellings WHERE artist_key = $1 AND track_id IS NOT NULL"
	return errors.Join(
		execTx(ctx, tx, "DELETE FROM track_artists WHERE listed = 0 AND track_id IN ("+tracks+")", key),
		execTx(ctx, tx, `INSERT INTO track_artists (track_id, artist_id, position, listed)
			SELECT DISTINCT p.track_id, CAST($2 AS BIGINT), 0, 0 FROM spellings p
			WHERE p.artist_key = $1 AND p.track_id IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM track_artists a WHERE a.track_id = p.track_id)`, key, artist),
		remeant(ctx, tx))
}
