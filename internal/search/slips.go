package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Vocabulary holds the words of all names. It is never changed: more words make another one.
type Vocabulary struct{ words []string }

// With returns the vocabulary with further words.
func (v *Vocabulary) With(more []string) *Vocabulary {
	all := slices.Concat(v.words, more)
	slices.Sort(all)
	return &Vocabulary{slices.Compact(all)}
}

// has says whether there is a word, or one that begins like that.
func (v *Vocabulary) has(text string, begin bool) bool {
	i, is := slices.BinarySearch(v.words, text)
	return is || begin && i < len(v.words) && strings.HasPrefix(v.words[i], text)
}

// Has says whether there is this word.
func (v *Vocabulary) Has(word string) bool { return v.has(word, false) }

// mostNear is the most words that are looked for in place of one with a slip.
const mostNear = 50

// Slips returns what somebody may have meant who has made one slip in each word of a question: a letter that is wrong,
// missing, too many, or swapped with the next one; a space that is missing or too many. It returns nil where nothing
// else can be meant. A text must fit one of the queries.
func (v *Vocabulary) Slips(q Question) []Query {
	words := q.words
	whole := make(Query, len(words))
	other := false
	for i, w := range words {
		whole[i] = Clause{{{w, true}}}
		for _, n := range v.near(w) {
			whole[i] = append(whole[i], Alternative{{n, false}})
		}
		whole[i] = append(whole[i], v.apart(w)...)
		other = other || len(whole[i]) > 1
	}
	var all []Query
	if other {
		all = append(all, whole)
	}
	for i := 1; i < len(words); i++ {
		if joined := words[i-1] + words[i]; v.has(joined, true) {
			one := slices.Concat(whole[:i-1], Query{{{{joined, true}}}}, whole[i+1:])
			all = append(all, one)
		}
	}
	return all
}

// apart returns the ways to read a word as two.
func (v *Vocabulary) apart(word string) (all Clause) {
	for i := range word {
		if i >= 2 && len(word)-i >= 2 && v.has(word[:i], false) && v.has(word[i:], true) {
			all = append(all, Alternative{{word[:i], false}, {word[i:], true}})
		}
	}
	return all
}

// near returns the words that are one slip away from a word that may be unfinished, the shortest first.
func (v *Vocabulary) near(word string) (all []string) {
	if utf8.RuneCountInString(word) < shortest {
		return nil
	}
	for _, w := range v.words {
		if near(word, w) {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(a) - len(b) })
	return all[:min(len(all), mostNear)]
}

// shortest is the least letters of a word that may have a slip. Words of so few letters must be finished, and begin
// with the same letter.
const shortest = 3

// near says whether what was typed differs by one slip from a word or its beginning. A slip in the last letter counts
// only if the word ends there: otherwise every word that begins nearly so would be near.
func near(typed, word string) bool {
	at := 0
	for at < len(typed) && at < len(word) && typed[at] == word[at] {
		at++
	}
	for at > 0 && at < len(typed) && !utf8.RuneStart(typed[at]) {
		at--
	}
	typed, rest, begun := typed[at:], word[at:], typed[:at]
	if typed == "" {
		return false // it begins so
	}
	letters := utf8.RuneCountInString(begun) + utf8.RuneCountInString(typed)
	if letters < shortest || letters == shortest && at == 0 {
		return false
	}
	same := func(a, b string) bool {
		if letters == shortest || a == "" {
			return a == b
		}
		return strings.HasPrefix(b, a)
	}
	_, n := utf8.DecodeRuneInString(typed)
	if rest == "" {
		return typed[n:] == ""
	}
	_, m := utf8.DecodeRuneInString(rest)
	if same(typed[n:], rest[m:]) || same(typed[n:], rest) || same(typed, rest[m:]) {
		return true
	}
	_, n2 := utf8.DecodeRuneInString(typed[n:])
	return n2 > 0 && strings.HasPrefix(rest, typed[n:n+n2]+typed[:n]) && same(typed[n+n2:], rest[n+n2:])
}
