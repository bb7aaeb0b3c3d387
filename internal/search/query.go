package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Query is what a text must have to be found: something of every clause.
type Query []Clause

// Clause is a choice: all words of one of its alternatives.
type Clause []Alternative

// Alternative are words that a text must have.
type Alternative []Word

// Word is a word, or how one begins.
type Word struct {
	Text  string
	Begin bool
}

// Render returns what a text must have, all of the queries, as a database wants it: a word as word does, and the words
// for "and" and "or".
func Render(all []Query, word func(Word) string, and, or string) string {
	join := func(n int, part func(int) string, by string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		if n == 1 {
			return parts[0]
		}
		return "(" + strings.Join(parts, by) + ")"
	}
	return join(len(all), func(i int) string {
		return join(len(all[i]), func(j int) string {
			return join(len(all[i][j]), func(k int) string {
				return join(len(all[i][j][k]), func(l int) string { return word(all[i][j][k][l]) }, and)
			}, or)
		}, and)
	}, or)
}

// mostAsked is the most words of a question that are looked for.
const mostAsked = 8

// Question is what somebody has typed.
type Question struct {
	words  []string // without the article, which is not needed
	joined string
}

// Ask returns the question that a text asks. Any text is a question.
func Ask(text string) Question {
	words := bare(Words(text))
	words = words[:min(len(words), mostAsked)]
	return Question{words, strings.Join(words, "")}
}

// Empty says whether nothing is asked.
func (q Question) Empty() bool { return len(q.words) == 0 }

// Query returns what a text must have to be what the question means: all words, each of which may be unfinished.
func (q Question) Query() (all Query) {
	for _, w := range q.words {
		all = append(all, Clause{{{w, true}}})
	}
	return all
}

// bare returns words without the article, unless there is nothing else.
func bare(all []string) []string {
	rest := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return w == "the" })
	if len(rest) == 0 {
		return all
	}
	return rest
}

// The ranks of names, the best first. Names of the same rank belong in the order of how often they were heard.
const (
	Whole  = iota // the name is what was typed
	Begins        // the name begins with it
	Near          // the name is one slip away from it
	Has           // each word is in the name
	Other         // something else has it: the artist of a track, or another spelling
)

// Rank says how well a name fits the question.
func (q Question) Rank(name string) int {
	all, signed := split(name)
	words := bare(all)
	joined := strings.Join(words, "")
	words = append(words[:len(words):len(words)], signed...)
	switch {
	case q.Empty():
		return Other
	case q.joined == joined:
		return Whole
	case strings.HasPrefix(joined, q.joined):
		return Begins
	case q.allIn(words, strings.HasPrefix):
		return Has
	case near(q.joined, joined) && len(joined) <= len(q.joined)+utf8.UTFMax:
		return Near
	case q.allIn(words, func(in, w string) bool { return strings.HasPrefix(in, w) || near(w, in) }):
		return Has
	}
	return Other
}

// allIn says whether each word is one of a name, as same sees it.
func (q Question) allIn(words []string, same func(in, word string) bool) bool {
	for _, w := range q.words {
		if !slices.ContainsFunc(words, func(in string) bool { return same(in, w) }) {
			return false
		}
	}
	return true
}
