package resilience

import (
	"net/http"
	"strings"

	"reprise/internal/bounded"
)

// Answer is a successful answer of an upstream.
type Answer struct {
	Endpoint string
	Status   int
	Header   http.Header
	Body     []byte
}

// Unchanged reports whether the upstream has nothing newer than the version in the request's If-None-Match. The
// answer then has no body.
func (a *Answer) Unchanged() bool { return a.Status == http.StatusNotModified }

// Empty reports whether the upstream says that there is nothing (204). The answer then has no body.
func (a *Answer) Empty() bool { return a.Status == http.StatusNoContent }

// maxMessage is how many bytes of an upstream's own words are kept; see docs/resilience.md.
const maxMessage = 300

// Excerpt shortens an upstream's message to what a person may want to copy.
func Excerpt(text string) string {
	if len(text) > 20*maxMessage { // the rest is cut off below, whatever it is
		text = text[:20*maxMessage]
	}
	text = strings.Join(strings.Fields(bounded.Line(text)), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}
