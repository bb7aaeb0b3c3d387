package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/internal/library"

	"golang.org/x/text/unicode/norm"
)

// These rules split names more finely than the store's match key, which only separates plays of the same minute. That
// key is stored in the database and cannot change; these rules may.

// recording is a track with its names parsed. Artists and album are parsed on first use: the title rules out most
// candidates.
type recording struct {
	library.Track
	title   title
	credits *artists
	release *album
}

func recordingOf(t library.Track) *recording {
	return &recording{Track: t, title: readTitle(t.Title)}
}

func (r *recording) artists() *artists {
	if r.credits == nil {
		r.credits = readArtists(r.Artist, r.title.guests)
	}
	return r.credits
}

func (r *recording) album() *album {
	if r.release == nil {
		r.release = readAlbum(r.Album)
	}
	return r.release
}

// title is a parsed title. "Song, Pt. 2 (The Sun) [feat. Ann] - Live in Rome / Remastered 2011" has the name
// [song part 2 the sun], its main part [song part 2], the version live, by the words [live rome], and a guest.
type title struct {
	name    []string // all words but those below
	main    []string // those of name outside of brackets and not after a dash
	told    []string // the words of the version
	plain   string   // name and told without spaces: equal for every spelling of a title
	version version
	guests  []string // "feat. …", each as written
}

func readTitle(s string) title {
	folded := fold(s)
	var t title
	t.read(folded)
	if len(t.name) == 0 { // a title like "(Live)" or "[Remastered]" is no remark on another
		t = title{name: titleWords(nil, folded)}
	}
	if len(t.name) == 0 && strings.TrimSpace(folded) != "" {
		t.name = []string{folded} // of symbols only, like "???"
	} else if len(t.name) == 0 && strings.TrimSpace(s) != "" {
		t.name = []string{s}
	}
	if len(t.main) == 0 {
		t.main = t.name
	}
	t.name, t.main = withoutThe(t.name), withoutThe(t.main)
	t.plain = strings.Join(t.name, "")
	if len(t.told) > 0 {
		t.plain += strings.Join(t.told, "")
	}
	return t
}

func withoutThe(words []string) []string {
	if len(words) > 1 && words[0] == "the" {
		return words[1:]
	}
	return words
}

// read parses the parts of a folded title: in brackets, after a dash, and the rest.
func (t *title) read(s string) {
	for s != "" {
		open := strings.IndexAny(s, "([{")
		if open < 0 {
			open = len(s)
		}
		for i, part := range splitDashes(s[:open]) {
			if i > 0 {
				t.remark(part)
			} else {
				t.plainly(part)
			}
		}
		if s = s[open:]; s == "" {
			return
		}
		end := closing(s)
		t.remark(s[1:end])
		s = s[min(end+1, len(s)):]
	}
}

// splitDashes splits "Song - Live" and "Song -Live-"; a dash within a word is left alone.
func splitDashes(s string) []string {
	if !strings.Contains(s, " -") {
		return []string{s}
	}
	return strings.Split(s, " -")
}

// closing returns where the bracket that s begins with is closed, or the end of s.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// featMarks begin the guests in a title or an artist.
var featMarks = []string{" feat. ", " feat ", " ft. ", " ft ", " featuring "}

// plainly parses a part outside of brackets.
func (t *title) plainly(s string) {
	for _, mark := range featMarks {
		if i := strings.Index(s, mark); i > 0 {
			t.guests = append(t.guests, s[i+len(mark):])
			s = s[:i]
		}
	}
	from := len(t.name)
	t.name = titleWords(t.name, s)
	t.main = append(t.main, t.name[from:]...)
}

// remark parses a part in brackets or after a dash: guests, a version, a note that does not concern the recording, or
// more of the name.
func (t *title) remark(s string) {
	var room [8]string
	words := titleWords(room[:0], s)
	if len(words) == 0 {
		return
	}
	switch w := words[0]; {
	case feats[w], w == "with":
		_, guests, _ := strings.Cut(strings.TrimSpace(s), " ")
		t.guests = append(t.guests, guests)
		return
	case w == "from": // a film, a show, another album
		return
	}
	told, noted, mastered := version(0), true, slices.IndexFunc(words, isRemaster)
	for _, w := range words {
		told |= versionWords[w]
		noted = noted && (noteWords[w] || isYear(w) || isOrdinal(w))
	}
	switch {
	case told&^otherwise != 0:
		told &^= otherwise
	case noted || mastered >= 0:
		return
	}
	if told == 0 {
		t.name = append(t.name, words...)
		return
	}
	t.version |= told
	year := masteredIn(words, mastered)
	for i, w := range words {
		if !tellsNothing[w] && !isRemaster(w) && i != year {
			t.told = append(t.told, w)
		}
	}
}

func isRemaster(w string) bool { return strings.HasPrefix(w, "remaster") }

// masteredIn returns the index of the year of the remaster at i, or -1. Other years are of concerts, and separate
// versions.
func masteredIn(words []string, i int) int {
	if i >= 0 {
		// "remastered 2011", "2011 digital remaster", "remastered in 2011"
		for _, at := range [...]int{i + 1, i - 1, i - 2, i + 2} {
			if at >= 0 && at < len(words) && isYear(words[at]) {
				return at
			}
		}
	}
	return -1
}

// isOrdinal reports whether a word is a number such as 20th.
func isOrdinal(w string) bool {
	n := len(w) - 2
	return n > 0 && strings.Trim(w[:n], "0123456789") == "" && slices.Contains([]string{"st", "nd", "rd", "th"}, w[n:])
}

func isYear(w string) bool {
	return len(w) == 4 && (w[:2] == "19" || w[:2] == "20") && strings.Trim(w[2:], "0123456789") == ""
}

// artists are the artists of a recording.
type artists struct {
	names   []string // all of them, guests too, each once and without spaces
	lead    string   // without guests, sorted
	guests  []string
	plain   string   // names in their order, without spaces
	words   []string // the words of all names, sorted
	bag     string   // words without spaces: "Utada Hikaru" is "Hikaru Utada"
	version version
}

// readArtists parses the artists that a provider has joined, and adds the guests in a title.
func readArtists(s string, titleGuests []string) *artists {
	var a artists
	var lead, words []string
	a.add(fold(s), &lead, &words, false)
	for _, g := range titleGuests {
		a.add(g, &lead, &words, true)
	}
	lead = slices.DeleteFunc(lead, func(name string) bool { return slices.Contains(a.guests, name) })
	slices.Sort(lead)
	slices.Sort(words)
	a.lead, a.plain = strings.Join(lead, " "), strings.Join(a.names, "")
	a.words, a.bag = words, strings.Join(words, "")
	return &a
}

// maxNames is how many artists of a recording are compared.
const maxNames = 32

// isArtistMark reports whether a character separates artists.
func isArtistMark(r rune) bool { return strings.ContainsRune(",;/&+|•×、", r) }

// joins are the words between artists, and feats those before guests.
var (
	joins = wordSet("and und n with vs x")
	feats = wordSet("feat ft featuring")
)

func (a *artists) add(folded string, lead, bag *[]string, guest bool) {
	var room [8]string
	for part := range strings.FieldsFuncSeq(folded, isArtistMark) {
		words := splitWords(room[:0], part)
		from := 0
		for i, w := range words {
			between := i > from && i < len(words)-1 && !feats[words[i+1]] // "Lil Nas X" ends with a name
			if feats[w] || joins[w] && between {
				a.addName(words[from:i], lead, bag, guest)
				guest = guest || feats[w]
				from = i + 1
				continue
			}
			a.version |= versionWords[w] & (karaoke | instrumental)
		}
		a.addName(words[from:], lead, bag, guest)
	}
	if trimmed := strings.TrimSpace(folded); len(a.names) == 0 && trimmed != "" { // of symbols only
		a.addName([]string{trimmed}, lead, bag, guest)
	}
}

// addName adds the name of these words without its articles: "Tyler, The Creator" is "Tyler the Creator". The The stays
// as it is.
func (a *artists) addName(words []string, lead, bag *[]string, guest bool) {
	if len(words) == 0 || len(a.names) == maxNames {
		return
	}
	var room [8]string
	name := room[:0]
	for _, w := range words {
		if w != "the" {
			name = append(name, w)
		}
	}
	if len(name) == 0 {
		name = words
	}
	plain := strings.Join(name, "")
	if !slices.Contains(a.names, plain) {
		a.names = append(a.names, plain)
		*bag = append(*bag, name...)
	}
	if guest {
		a.guests = append(a.guests, plain)
	} else if !slices.Contains(*lead, plain) {
		*lead = append(*lead, plain)
	}
}

// album is the name of a release without its edition.
type album struct {
	words   []string
	name    string
	version version
}

// toldByAlbum are the versions that an album's name gives its tracks. Others, like "Single", do not concern the tracks.
const toldByAlbum = live | acoustic | instrumental | karaoke | remix

// liveAt are the words after "Live" in the name of a live album, unlike "Live Through This".
var liveAt = wordSet("at in from")

func readAlbum(s string) *album {
	t := readTitle(s)
	a := album{words: t.name, name: strings.Join(t.name, ""), version: t.version &^ edited}
	for i, w := range t.main {
		v := versionWords[w]
		switch {
		case w == "live" && (i == len(t.main)-1 || liveAt[t.main[i+1]]),
			w == "unplugged", w == "karaoke", w == "remixes", w == "remixed", v == instrumental:
			a.version |= v
		}
	}
	return &a
}

// fold converts letters to lower case, without accents, full-width forms and ligatures. Marks that make another letter,
// as in Japanese or Hindi, stay.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	bare := false // the marks of the letter before are accents
	for _, r := range norm.NFKD.String(s) {
		if unicode.Is(unicode.Mn, r) {
			if !bare {
				b.WriteRune(r)
			}
			continue
		}
		r = unicode.ToLower(r)
		bare = r < 0x80 || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic)
		if plain, ok := foldings[r]; ok {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// latin reports whether a folded name has a Latin letter.
func latin(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
}

// foldings are the letters and signs that Unicode does not decompose.
var foldings = map[rune]string{
	'æ': "ae", 'œ': "oe", 'ø': "o", 'ß': "ss", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ı': "i", 'ħ': "h", 'ς': "σ",
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-",
	'‘': "'", '’': "'", 'ʼ': "'", '′': "'", '`': "'", '´': "'",
	'【': "(", '〔': "(", '〈': "(", '《': "(", '】': ")", '〕': ")", '〉': ")", '》': ")",
}
