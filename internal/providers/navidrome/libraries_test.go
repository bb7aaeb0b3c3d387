package navidrome_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"reprise/internal/library"
)

// searched is a server with a library, as far as looking for songs needs it.
type searched struct {
	kind   string // its type in answers
	hit    func(t library.Track, query string) bool
	album  func(name, query string) bool
	asked  []string // the queries
	albums []string // names, by number
}

// The servers, each with its own search.
func simulated() map[string]*searched {
	return map[string]*searched{
		"navidrome": {kind: "navidrome", hit: func(t library.Track, q string) bool {
			return fullText(q, t.Title, t.Album, t.Artist)
		}, album: func(name, q string) bool { return fullText(q, name) }},
		"navidrome-fts": {kind: "navidrome", hit: func(t library.Track, q string) bool {
			return indexed(q, t.Title, t.Album, t.Artist)
		}, album: func(name, q string) bool { return indexed(q, name) }},
		"gonic": {kind: "gonic", hit: func(t library.Track, q string) bool { return decodedLike(t.Title, q) },
			album: decodedLike},
	}
}

// fullText matches as Navidrome up to 0.59, and later ones with Search.Backend "legacy": every word of the query must
// begin a word of the names. Both are in lower case, with plain quotes and hyphens and most accents removed; quotes
// and brackets count for nothing. Texts of one byte find nothing.
// (persistence/sql_search_like.go, utils/str/sanitize_strings.go and str.go)
func fullText(query string, names ...string) bool {
	if len(strings.TrimSuffix(strings.TrimSpace(query), "*")) < 2 {
		return false
	}
	text := " " + strings.Join(sanitized(strings.Join(names, " ")), " ")
	for _, word := range sanitized(query) {
		if !like(text, "% "+word+"%") {
			return false
		}
	}
	return true
}

var (
	plainSigns = strings.NewReplacer("‘", "'", "’", "'", "‛", "'", "′", "'", "“", `"`, "”", `"`, "‐", "-", "–", "-",
		"—", "-", "−", "-", "―", "-", `\`, " ", "/", " ")
	ignored = regexp.MustCompile(`["'\[({\])},]`)
)

func sanitized(text string) []string {
	text = unaccent(strings.ToLower(plainSigns.Replace(text)))
	words := strings.Fields(ignored.ReplaceAllString(text, ""))
	slices.Sort(words)
	return slices.Compact(words)
}

// unaccent removes the accents of European letters.
func unaccent(text string) string {
	text = strings.NewReplacer("ß", "ss", "æ", "ae", "ø", "oe", "å", "aa", "œ", "oe", "ð", "d", "þ", "th", "ł", "l").
		Replace(text)
	var b strings.Builder
	for _, r := range text {
		if d := []rune(norm.NFD.String(string(r))); unicode.Is(unicode.Latin, r) {
			r = d[0]
		}
		b.WriteRune(r)
	}
	return b.String()
}

// indexed matches as the full-text index of Navidrome from 0.60 on: every word of the query must begin a word of the
// names, where signs separate words; a word with signs in it may also be found without them. Chinese and Japanese
// texts, and those of signs only, are compared with each name.
// (persistence/sql_search_fts.go)
func indexed(query string, names ...string) bool {
	tokens := func(s string) []string {
		return strings.FieldsFunc(fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	asian := func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}
	if strings.ContainsFunc(query, asian) || len(tokens(query)) == 0 {
		return !slices.ContainsFunc(strings.Fields(query), func(word string) bool {
			return !slices.ContainsFunc(names, func(n string) bool { return like(n, "%"+word+"%") })
		})
	}
	var has []string
	for word := range strings.FieldsSeq(strings.Join(names, " ")) {
		has = append(append(has, tokens(word)...), strings.Join(tokens(word), ""))
	}
	for word := range strings.FieldsSeq(query) {
		begins := func(prefix string) bool {
			return slices.ContainsFunc(has, func(h string) bool { return strings.HasPrefix(h, prefix) })
		}
		parts := tokens(word)
		apart := !slices.ContainsFunc(parts, func(p string) bool { return !begins(p) })
		if !apart && !begins(strings.Join(parts, "")) {
			return false
		}
	}
	return true
}

func fold(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s)))
}

// decodedLike matches as gonic: the words of the query, in lower case, must follow each other in the name, or in the
// name in ASCII letters if it has others. (server/ctrlsubsonic/handlers_by_tags.go, scanner/scanner.go)
func decodedLike(name, query string) bool {
	pattern := "%" + strings.Join(strings.Fields(strings.ToLower(query)), "%") + "%"
	if like(name, pattern) {
		return true
	}
	ascii := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return -1 // gonic writes Cyrillic and Asian letters in Latin ones, which no query here has
		}
		return r
	}, unaccentAll(decodedSigns.Replace(name)))
	return ascii != name && like(ascii, pattern)
}

var decodedSigns = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "‐", "-", "–", "-", "—", "--",
	"…", "...", "ß", "ss", "æ", "ae", "Æ", "AE", "ø", "o", "Ø", "O")

func unaccentAll(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// like is LIKE of SQLite: "%" matches any letters and "_" one, and only ASCII letters have no case.
func like(text, pattern string) bool {
	lower := func(s string) []rune {
		return []rune(strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, s))
	}
	t, p := lower(text), lower(pattern)
	// star is where the last "%" is, and from where its letters begin
	i, j, star, from := 0, 0, -1, 0
	for i < len(t) {
		switch {
		case j < len(p) && p[j] == '%':
			star, from = j, i
			j++
		case j < len(p) && (p[j] == '_' || p[j] == t[i]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p)
}

// serve starts the server on loopback.
func (s *searched) serve(t testing.TB) string {
	t.Helper()
	for _, track := range shelved {
		if !slices.Contains(s.albums, track.Album) {
			s.albums = append(s.albums, track.Album)
		}
	}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, part string, body any) {
		respond(w, 200, map[string]any{"subsonic-response": map[string]any{"status": "ok", "version": "1.16.1",
			"type": s.kind, "openSubsonic": true, part: body}})
	}
	mux.HandleFunc("/rest/search3.view", func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		s.asked = append(s.asked, query)
		var hits, albums []map[string]any
		for i, track := range shelved {
			if s.hit(track, query) {
				hits = append(hits, child(i, track))
			}
		}
		for i, name := range s.albums {
			if s.album(name, query) {
				albums = append(albums, map[string]any{"id": "al-" + strconv.Itoa(i), "name": name})
			}
		}
		answer(w, "searchResult3", map[string]any{"song": pageOf(r, "song", hits),
			"album": pageOf(r, "album", albums)})
	})
	mux.HandleFunc("/rest/getAlbum.view", func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, "getAlbum")
		n, _ := strconv.Atoi(strings.TrimPrefix(r.FormValue("id"), "al-"))
		var songs []map[string]any
		for i, track := range shelved {
			if track.Album == s.albums[n] {
				songs = append(songs, child(i, track))
			}
		}
		answer(w, "album", map[string]any{"song": songs})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func child(i int, t library.Track) map[string]any {
	return map[string]any{"id": "tr-" + strconv.Itoa(i), "title": t.Title, "artist": t.Artist, "album": t.Album,
		"duration": int(t.Duration.Seconds())}
}

func pageOf(r *http.Request, kind string, all []map[string]any) []map[string]any {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.FormValue(name)); err == nil {
			return n
		}
		return otherwise
	}
	from := min(number(kind+"Offset", 0), len(all))
	return append([]map[string]any{}, all[from:min(len(all), from+number(kind+"Count", 20))]...)
}
