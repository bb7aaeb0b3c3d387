// Package search finds out what somebody means who types a few letters: it turns texts into words that are the same
// however they are written, and knows which words are one slip away. It knows no database.
package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// These are the limits of what is read of a text, so that a very long one costs no more than others.
const (
	mostLetters = 1000 // of a text
	mostWords   = 60   // of a text
	longestWord = 40   // letters
)

// alike are letters without a form that is a plain letter with an accent.
var alike = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l",
	"ı", "i", "ħ", "h", "ς", "σ")

// apostrophes are left out, so that "don't" is "dont".
const apostrophes = "'’‘ʼ`´′＇"

// Words returns the words of a text: letters and digits in lower case, without accents and apostrophes. A text without
// any has a word for each sign. Letters of scripts without spaces are words of their own.
func Words(text string) []string {
	all, _ := split(text)
	return all
}

// Index returns the words by which a name is to be found: its words, and also AC/DC as acdc.
func Index(name string) []string {
	all, joined := split(name)
	for _, word := range joined {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// split returns the words of a text, and further ones for those parts that signs split.
func split(text string) (all, joined []string) {
	if !strings.ContainsFunc(text, isLetter) {
		return signs(text), nil
	}
	for part := range strings.FieldsSeq(plain(text)) {
		words := strings.FieldsFunc(part, func(r rune) bool { return !isLetter(r) })
		if len(words) > 1 {
			joined = append(joined, cut(strings.Join(words, "")))
		}
		for _, w := range words {
			all = append(all, pieces(w)...)
		}
	}
	return all[:min(len(all), mostWords)], joined[:min(len(joined), mostWords)]
}

// signs returns a word for each sign, for names such as "!!!".
func signs(text string) (all []string) {
	for _, r := range shorten(text, longestWord) {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			all = append(all, fmt.Sprintf("x%x", r))
		}
	}
	return all
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// plain returns a text in lower case without accents and apostrophes. Signs that are used as letters are letters.
func plain(text string) string {
	if simple(text) {
		return strings.ToLower(text)
	}
	text = strings.ToLower(norm.NFC.String(shorten(text, mostLetters)))
	var b strings.Builder
	b.Grow(len(text))
	before := ' '
	rest := []rune(text)
	for i, r := range rest {
		inside := isLetter(before) && i+1 < len(rest) && isLetter(rest[i+1])
		switch {
		case strings.ContainsRune(apostrophes, r):
			continue
		case r == '&' || r == '+':
			b.WriteString(" and ")
		case r == '$' && (inside || i+1 < len(rest) && isLetter(rest[i+1])):
			b.WriteByte('s')
		case r == '!' && inside:
			b.WriteByte('i')
		default:
			b.WriteRune(r)
		}
		before = r
	}
	var out strings.Builder
	for _, r := range norm.NFKD.String(b.String()) {
		if !unicode.Is(unicode.M, r) {
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return alike.Replace(out.String())
}

// simple says whether a text is short and has nothing but letters, digits and spaces of ASCII, as most names.
func simple(text string) bool {
	for i := range len(text) {
		c := text[i] | 0x20
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && text[i] != ' ' {
			return false
		}
	}
	return len(text) <= mostLetters
}

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// pieces splits a word at the letters of scripts without spaces.
func pieces(word string) (all []string) {
	begin := 0
	for i, r := range word {
		if r < unicode.MaxLatin1 {
			continue
		}
		if unicode.IsOneOf(unspaced, r) {
			if begin < i {
				all = append(all, cut(word[begin:i]))
			}
			begin = i + len(string(r))
			all = append(all, word[i:begin])
		}
	}
	if begin < len(word) {
		all = append(all, cut(word[begin:]))
	}
	return all
}

func cut(word string) string { return shorten(word, longestWord) }

// shorten returns the first letters of a text, which may be no valid UTF-8.
func shorten(text string, letters int) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*letters)], "")
	for i := range text {
		if letters == 0 {
			return text[:i]
		}
		letters--
	}
	return text
}
