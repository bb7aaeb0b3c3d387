package transport

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"reprise/internal/resilience"
)

// ownPage reports whether a page with that status is the upstream's own answer, not that of something in between.
func ownPage(to resilience.Endpoint, status int) bool {
	return filesPage(to, status) || to.Pages && status < 300
}

// filesPage reports whether a page with that status is a file server's own answer.
func filesPage(to resilience.Endpoint, status int) bool {
	m := resilience.StatusMeaning(status)
	return to.Files && (m.Scope == resilience.ScopeItem || m.Category == resilience.RateLimit)
}

// read applies the reader to an answer, and reports whether the answer is a failure.
func read(r resilience.Reader, e *resilience.AnswerError, failed bool) bool {
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

// Bytes returns all of it.
func (m *memory) Bytes() []byte { return m.all }

// Close implements io.Closer.
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
