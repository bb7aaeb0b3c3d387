package config

import (
	"strings"
	"unicode"

	"reprise/internal/resilience"
)

// channelURLs splits a list of URLs at commas and spaces. A comma inside a URL is kept: it only separates when a URL
// follows.
func channelURLs(to *[]resilience.Secret) func(string) error {
	return func(s string) error {
		*to = nil
		for word := range strings.FieldsFuncSeq(s, unicode.IsSpace) {
			glued := false
			for part := range strings.SplitSeq(word, ",") {
				if last := len(*to) - 1; glued && last >= 0 && !strings.Contains(part, "://") {
					if part != "" {
						(*to)[last] += resilience.Secret("," + part)
					}
				} else if part != "" {
					*to = append(*to, resilience.Secret(part))
				}
				glued = true
			}
		}
		return nil
	}
}
