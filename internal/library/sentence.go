package library

import "strings"

// InSentence returns a text in which a name that begins with an article, such as "The digest's language model", is
// written as in the middle of a sentence wherever it does not begin one. Other names stay as they are.
func InSentence(text, name string) string {
	rest, ok := strings.CutPrefix(name, "The ")
	if !ok {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, name)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		article := "the "
		begun := strings.TrimRight(b.String(), " \n")
		if begun == "" || strings.ContainsAny(begun[len(begun)-1:], ".!?") {
			article = "The "
		}
		b.WriteString(article + rest)
		text = after
	}
}
