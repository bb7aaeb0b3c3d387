package match

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitWords appends the words of a folded name to dst: runs of letters and digits. Apostrophes and the dots of
// initials do not end a word ("don't", "R.E.M."); "$" and "!" within one are the letters they look like.
func splitWords(dst []string, s string) []string {
	start, piece, rough := -1, 0, false // piece counts letters since the last dot
	before := rune(0)
	flush := func(end int) {
		if start >= 0 {
			w := s[start:end]
			if rough {
				w = smoother.Replace(w)
			}
			if w != "" {
				dst = append(dst, w)
			}
		}
		start, piece, rough = -1, 0, false
	}
	for i, r := range s {
		switch {
		case isWordRune(r):
			if start < 0 {
				start = i
			}
			piece++
		case start >= 0 && r == '\'', start >= 0 && r == '.' && piece == 1, start >= 0 && r == '!' &&
			letterFollows(s[i+1:]):
			rough = true
			if r == '.' {
				piece = 0
			}
		case r == '$' && (start >= 0 && unicode.IsLetter(before) || letterFollows(s[i+1:])):
			if start < 0 {
				start = i
			}
			rough = true
		default:
			flush(i)
		}
		before = r
	}
	flush(len(s))
	return dst
}

var smoother = strings.NewReplacer("'", "", ".", "", "!", "i", "$", "s")

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

func letterFollows(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// titleWords appends the words of a folded title, or of a part of it, in one spelling: "&" and "'n'" are "and", and
// "Pt. II" is "part 2".
func titleWords(dst []string, s string) []string {
	for i := strings.IndexByte(s, '&'); i >= 0; i = strings.IndexByte(s, '&') {
		dst = appendTitleWords(dst, s[:i])
		dst = append(dst, "and")
		s = s[i+1:]
	}
	return appendTitleWords(dst, s)
}

func appendTitleWords(dst []string, s string) []string {
	from := len(dst)
	dst = splitWords(dst, s)
	for i := from; i < len(dst); i++ {
		if len(dst[i]) > 5 {
			continue
		}
		counted := i > 0 && (dst[i-1] == "part" || dst[i-1] == "volume" || dst[i-1] == "no")
		dst[i] = spelling(dst[i], counted)
	}
	return dst
}

// spelling returns the one spelling of a short word; counted words are the numbers of parts and volumes.
func spelling(w string, counted bool) string {
	switch w {
	case "n":
		return "and"
	case "pt", "pts", "parts":
		return "part"
	case "vol":
		return "volume"
	case "ii":
		return "2"
	case "iii":
		return "3"
	case "iv":
		return "4"
	case "vi":
		return "6"
	case "vii":
		return "7"
	case "viii":
		return "8"
	case "ix":
		return "9"
	}
	if counted {
		if n, ok := counting[w]; ok {
			return n
		}
	}
	return w
}

// counting are words that are numbers after "part".
var counting = map[string]string{
	"one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
	"six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
	"i": "1", "v": "5", "x": "10",
}

// version is a set of properties that make a recording different from the plain recording of the same song.
type version uint16

const (
	live version = 1 << iota
	acoustic
	edited
	extended
	remix
	instrumental
	vocals
	karaoke // and other people's imitations
	demo
	arranged
	paced
	reprised
	otherwise // some other version
)

// versionWords are the words for a version in brackets or after a dash.
var versionWords = func() map[string]version {
	words := map[string]version{}
	for v, list := range map[version]string{
		live:         "live concert unplugged session sessions ライブ ライヴ",
		acoustic:     "acoustic akustik acustico acustica acoustique アコースティック",
		edited:       "edit radio single",
		extended:     "extended club maxi",
		remix:        "remix remixes remixed rmx rework reworked bootleg mashup flip vip dub refix リミックス",
		instrumental: "instrumental instrumentals inst instrumentale インストゥルメンタル インスト",
		vocals:       "acapella acappella cappella vocals",
		karaoke:      "karaoke tribute cover originally playback カラオケ",
		demo:         "demo demos rehearsal outtake outtakes sketch",
		arranged:     "orchestral symphonic orchestra piano strings",
		paced:        "slowed sped nightcore reverb 8d chopped",
		reprised:     "reprise interlude intro outro skit prelude commentary",
		otherwise:    "version versions ver mix alternate alternative rerecorded rerecording バージョン",
	} {
		for w := range strings.FieldsSeq(list) {
			words[fold(w)] = v
		}
	}
	return words
}()

// noteWords are the words of remarks that do not concern the recording.
var noteWords = wordSet(`original album main master mastered remaster remastered version ver mix edition mono stereo
	explicit clean bonus track tracks deluxe digital digitally official video audio lyric lyrics visualizer visualiser
	music hd hq 4k anniversary expanded special super limited collectors standard ep th the full lp`)

// tellsNothing are words that a version is written with or without.
var tellsNothing = wordSet("version ver mix the a at in from on recording recorded digital digitally")

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
