package resilience

import (
	"bytes"
	"encoding/xml"
	"io"
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

// read applies the reader to an answer, and reports whether the answer is a failure.
func (r Reader) read(e *AnswerError, failed bool) bool {
	switch {
	case !failed:
		return r.Refused(e)
	case r.Explain != nil && !e.HTML: // a page holds no words of the provider's
		r.Explain(e)
	}
	return true
}

// memory is a body that has been read.
type memory struct {
	*bytes.Reader
	all []byte
}

func (*memory) Close() error { return nil }

// isHTML reports whether an answer is a page. An empty one is not, whatever its type: many frameworks declare every
// answer as a page, also a 204 and a bare 401. Where XML is expected, what begins like a page is one only if it is
// HTML, or not XML either.
func isHTML(contentType string, body []byte, xmlIsDue bool) bool {
	if len(body) == 0 {
		return false
	}
	contentType = strings.ToLower(contentType)
	if strings.HasPrefix(contentType, "text/html") || strings.HasPrefix(contentType, "application/xhtml") {
		return true
	}
	if !bytes.HasPrefix(bytes.TrimLeft(body[:min(len(body), 64)], " \t\r\n\ufeff"), []byte("<")) {
		return false
	}
	if !xmlIsDue {
		return true
	}
	root := rootElement(body)
	return root == "" || strings.EqualFold(root, "html")
}

// rootElement returns the name of the first element of an XML document, or nothing.
func rootElement(body []byte) string {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names are ASCII
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		if e, ok := token.(xml.StartElement); ok {
			return e.Name.Local
		}
	}
}

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
