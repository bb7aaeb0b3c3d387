package config

import (
	"net"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// channelURLs returns a setter for a list of URLs.
func channelURLs(to *[]resilience.Secret) func(string) error {
	return func(s string) error {
		*to = nil
		for _, u := range SplitURLs(s) {
			*to = append(*to, resilience.Secret(u))
		}
		return nil
	}
}

// SplitURLs splits a list of URLs at commas and spaces. A comma inside a URL is kept: it only separates when a URL
// follows.
func SplitURLs(s string) (all []string) {
	for word := range strings.FieldsFuncSeq(s, unicode.IsSpace) {
		glued := false
		for part := range strings.SplitSeq(word, ",") {
			if last := len(all) - 1; glued && last >= 0 && !strings.Contains(part, "://") && !isMask(part) {
				if part != "" {
					all[last] += "," + part
				}
			} else if part != "" {
				all = append(all, part)
			}
			glued = true
		}
	}
	return all
}

// isMask reports whether a text is the mask of a hidden URL.
func isMask(part string) bool { return strings.HasPrefix(part, "…") }

// hostNames returns a setter for a list of names of this server, without scheme, port and path; * means all names.
func hostNames(to *[]string) func(string) error {
	return func(s string) error {
		*to = nil
		for item := range strings.SplitSeq(s, ",") {
			item = strings.ToLower(strings.Trim(strings.TrimSpace(item), "."))
			if item == "" {
				continue
			}
			if item != "*" && !hostName.MatchString(item) {
				return words.Errorf("settings.wrong.host", "Value", item)
			}
			*to = append(*to, item)
		}
		return nil
	}
}

// hostName matches a name as DNS has it, also the encoded form of one with other letters.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// upstreams returns a setter for a list of hosts of other servers, each a name or an address, with a port or without.
func upstreams(to *[]string) func(string) error {
	return func(s string) error {
		*to = nil
		for item := range strings.SplitSeq(s, ",") {
			item = strings.ToLower(strings.TrimSpace(item))
			if item == "" {
				continue
			}
			host := item
			if h, _, err := net.SplitHostPort(item); err == nil {
				host = h
			}
			_, err := netip.ParseAddr(strings.Trim(host, "[]"))
			if item != "*" && err != nil && !hostName.MatchString(host) {
				return words.Errorf("settings.wrong.upstream", "Value", item)
			}
			*to = append(*to, item)
		}
		return nil
	}
}
