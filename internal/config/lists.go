package config

import (
	"strings"
	"unicode"

	"reprise/internal/resilience"
)

// channelURLs reads URLs separated by commas or spaces. A comma may also be inside a URL: what follows it begins
// another only when it begins like a URL.
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
