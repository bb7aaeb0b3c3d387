package demo

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MusicBrainzServer is the address of the simulated MusicBrainz.
type MusicBrainzServer struct {
	URL string // without /ws/2
}

type musicBrainz struct {
	*gate
	cat *catalog
}

func (w *World) startMusicBrainz(ctx context.Context) error {
	mb := &musicBrainz{cat: w.home.cat}
	mux := http.NewServeMux()
	for kind, answer := range map[string]func(album, int) object{
		"artist":        mb.artist,
		"release-group": mb.group,
		"recording":     mb.recording,
	} {
		mux.HandleFunc("GET /ws/2/"+kind+"/{mbid}",
			func(rw http.ResponseWriter, r *http.Request) { mb.lookup(rw, r, kind, answer) })
		mux.HandleFunc("GET /ws/2/"+kind,
			func(rw http.ResponseWriter, r *http.Request) { mb.search(rw, r, kind, answer) })
	}
	mb.gate = w.newGate(ctx, rules{
		who:    func(*http.Request) string { return "" },
		refuse: mb.refuse,
		next:   mux.ServeHTTP,
		lacks:  []Mode{RateLimited, Revoked},
	})
	base, err := w.serve(ctx, MusicBrainz, mb.gate)
	w.MusicBrainz = MusicBrainzServer{URL: base}
	return err
}

// refuse throttles, for which MusicBrainz answers 503.
func (mb *musicBrainz) refuse(w http.ResponseWriter, _ Mode) {
	w.Header().Set("Retry-After", strconv.Itoa(int(mb.opts.RetryAfter/time.Second)))
	writeJSON(w, http.StatusServiceUnavailable, object{
		"error": "Your requests are exceeding the allowable rate limit. " +
			"Please see https://musicbrainz.org/doc/XML_Web_Service/Rate_Limiting for more information.",
	})
}

func artistMBID(artist string) string { return uuid("artist" + artist) }

func (a album) groupMBID() string { return uuid("release-group" + a.artist + "\x00" + a.title) }

// unmatched reports whether MusicBrainz, and so ListenBrainz, lacks a track, as happens now and then.
func unmatched(track int) bool { return track%11 == 7 }

// tagged returns the MBID in the file of a track at home; empty when MusicBrainz lacks it.
func (c *catalog) tagged(track int) string {
	if unmatched(track) {
		return ""
	}
	return c.tracks[track].mbid
}

// entities are all that MusicBrainz knows of a kind: the album and, of a recording, the track, by MBID in the order of
// the catalog.
func (mb *musicBrainz) entities(kind string, each func(mbid string, a album, track int)) {
	for _, a := range mb.cat.albums {
		switch kind {
		case "artist":
			each(artistMBID(a.artist), a, -1)
		case "release-group":
			each(a.groupMBID(), a, -1)
		default:
			for _, t := range a.tracks {
				if !unmatched(t) {
					each(mb.cat.tracks[t].mbid, a, t)
				}
			}
		}
	}
}

func (mb *musicBrainz) lookup(w http.ResponseWriter, r *http.Request, kind string, answer func(album, int) object) {
	var found object
	mb.entities(kind, func(mbid string, a album, t int) {
		if mbid == r.PathValue("mbid") {
			found = answer(a, t)
		}
	})
	if found == nil {
		writeJSON(w, http.StatusNotFound,
			object{"error": "Not Found", "help": "For usage, please see: https://musicbrainz.org/development/mmd"})
		return
	}
	inc := strings.FieldsFunc(r.FormValue("inc"), func(c rune) bool { return c == ' ' || c == '+' })
	for part, name := range map[string]string{
		"tags":          "tags",
		"artist-credit": "artist-credits",
		"releases":      "releases",
	} {
		if !slices.Contains(inc, name) {
			delete(found, part)
		}
	}
	writeJSON(w, http.StatusOK, found)
}

// phrase is one condition of a Lucene query, as far as this simulation understands it: all of them must hold, but for
// an ISRC or an alias, which is enough.
var (
	phrase  = regexp.MustCompile(`(\w+):"((?:[^"\\]|\\.)*)"`)
	escaped = regexp.MustCompile(`\\(.)`)
)

func (mb *musicBrainz) search(w http.ResponseWriter, r *http.Request, kind string, answer func(album, int) object) {
	wanted := map[string]string{}
	for _, m := range phrase.FindAllStringSubmatch(r.FormValue("query"), -1) {
		wanted[m[1]] = escaped.ReplaceAllString(m[2], "$1")
	}
	if len(wanted) == 0 {
		writeJSON(w, http.StatusBadRequest, object{"error": "Unable to parse search query."})
		return
	}
	hits, seen := []object{}, map[string]bool{}
	mb.entities(kind, func(mbid string, a album, t int) {
		names := map[string]string{
			"artist":       a.artist,
			"alias":        "",
			"releasegroup": a.title,
			"isrc":         "",
			"recording":    "",
		}
		if t >= 0 {
			names["recording"], names["isrc"] = mb.cat.tracks[t].title, mb.cat.tracks[t].isrc
		}
		if score := score(wanted, names); score > 0 && !seen[mbid] {
			seen[mbid] = true
			hit := answer(a, t)
			hit["score"] = score
			hits = append(hits, hit)
		}
	})
	slices.SortStableFunc(hits, func(a, b object) int { return cmp.Compare(b["score"].(int), a["score"].(int)) })
	hits = hits[:min(len(hits), max(1, queryInt(r, "limit", 25)))]
	writeJSON(w, http.StatusOK,
		object{"created": mb.opts.Now().UTC().Format(time.RFC3339), "count": len(hits), "offset": 0, kind + "s": hits})
}

// score returns how well names match what is wanted: 100 if they are equal, less if they contain it, 0 otherwise.
func score(wanted, names map[string]string) int {
	if code := wanted["isrc"]; code != "" && code == names["isrc"] {
		return 100
	}
	least, any := 100, false
	for field, want := range wanted {
		if field == "isrc" || field == "alias" {
			continue
		}
		have, want := strings.Join(terms(names[field]), " "), strings.Join(terms(want), " ")
		switch {
		case have == want:
		case strings.Contains(" "+have+" ", " "+want+" "):
			least = min(least, 60)
		default:
			return 0
		}
		any = true
	}
	if !any {
		return 0
	}
	return least
}

// released returns the release date of an album. The catalog has the year only.
func (a album) released() string {
	n := digest("day" + a.artist + a.title)
	return fmt.Sprintf("%d-%02d-%02d", a.year, 1+n%12, 1+n/12%28)
}

func (a album) mbTags() []object {
	return []object{
		{"name": fmt.Sprintf("%ds", a.year/10*10), "count": 4},
		{"name": strings.ToLower(a.genre), "count": 21},
		{"name": "seen live", "count": 0},
	}
}

func (a album) credit() []object {
	return []object{
		{
			"name":       a.artist,
			"joinphrase": "",
			"artist":     object{"id": artistMBID(a.artist), "name": a.artist, "sort-name": a.artist},
		},
	}
}

func (mb *musicBrainz) artist(a album, _ int) object {
	return object{
		"id":        artistMBID(a.artist),
		"name":      a.artist,
		"sort-name": a.artist,
		"type":      "Group",
		"tags":      a.mbTags(),
		"life-span": object{"begin": strconv.Itoa(a.year - int(digest(a.artist)%9) - 1), "end": nil, "ended": false},
	}
}

func (mb *musicBrainz) group(a album, _ int) object {
	return object{
		"id":                 a.groupMBID(),
		"title":              a.title,
		"primary-type":       "Album",
		"secondary-types":    []string{},
		"first-release-date": a.released(),
		"artist-credit":      a.credit(),
		"tags":               a.mbTags(),
	}
}

func (mb *musicBrainz) recording(a album, t int) object {
	tr := &mb.cat.tracks[t]
	group := mb.group(a, t)
	delete(group, "tags")
	return object{
		"id":                 tr.mbid,
		"title":              tr.title,
		"length":             tr.duration.Milliseconds(),
		"video":              false,
		"disambiguation":     "",
		"isrcs":              []string{tr.isrc},
		"first-release-date": a.released(),
		"artist-credit":      a.credit(),
		"tags":               a.mbTags(),
		"releases": []object{
			{
				"id":            uuid("release" + a.groupMBID()),
				"title":         a.title,
				"status":        "Official",
				"date":          a.released(),
				"release-group": group,
			},
		},
	}
}
