package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
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

// hostNames returns a setter for a list of names of this server, without scheme, port and path; * stands for all names.
func hostNames(to *[]string) func(string) error {
	return func(s string) error {
		*to = nil
		for item := range strings.SplitSeq(s, ",") {
			item = strings.ToLower(strings.Trim(strings.TrimSpace(item), "."))
			if item == "" {
				continue
			}
			if item != "*" && !hostName.MatchString(item) {
				return fmt.Errorf("%q is not a name such as music.example.org; write only the name, without "+
					"https://, port or path. IP addresses need not be listed", item)
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
				return fmt.Errorf("%q is not a host such as nas.lan or 192.168.1.7:4533; write it without http:// "+
					"and path", item)
			}
			*to = append(*to, item)
		}
		return nil
	}
}
