// Package help shows the documents, to anybody, and finds words in them.
//
// A document is a file NAME.md whose first line is its title; it is divided into its sections and written as HTML.
// Links between documents lead to the same places in the program; what a link to another file of the repository says is
// kept, without the link.
package help

import (
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"reprise/docs"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Prefix begins the addresses of the documents.
const Prefix = "/help/"

// index is the document that lists the others.
const index = "README"

// Handler answers for the documents.
type Handler struct {
	core *core.Core
	// read returns the documents. They are read when somebody first asks for one: a start is not to wait for it.
	read func() (*Library, error)
}

// New returns a Handler.
func New(k *core.Core) *Handler {
	return &Handler{core: k, read: sync.OnceValues(func() (*Library, error) {
		return Read(docs.Files, Prefix)
	})}
}

// Open adds the routes, which need no session: who can't sign in needs help most.
func (h *Handler) Open(g *echo.Group) {
	g.GET("/help", h.index)
	g.GET(Prefix+":page", h.page)
}

// longest is how much of a query is looked for, in bytes.
const longest = 100

func (h *Handler) index(c echo.Context) error {
	all, err := h.read()
	if err != nil {
		return err
	}
	q := strings.TrimSpace(c.QueryParam("q"))
	q = strings.ToValidUTF8(q[:min(len(q), longest)], "")
	page := foundPage(q, all.Find(q, index))
	if q == "" {
		page = indexPage(all.Page(index))
	}
	return h.core.Show(c, http.StatusOK, words.T(c.Request().Context(), "help.title"), page)
}

func (h *Handler) page(c echo.Context) error {
	all, err := h.read()
	if err != nil {
		return err
	}
	p := all.Page(c.Param("page"))
	if p == nil {
		return core.NotFound(words.New("help.unknown"))
	}
	if p.Name == index {
		return c.Redirect(http.StatusSeeOther, "/help")
	}
	return h.core.Show(c, http.StatusOK, p.Title, documentPage(p))
}

// address returns that of a section of a document.
func address(p *Page, s Section) string {
	if s.ID == "" {
		return Prefix + p.Name
	}
	return Prefix + p.Name + "#" + s.ID
}

// title returns that of a section, after its document's.
func title(f Found) string {
	if f.Section.Title == "" {
		return f.Page.Title
	}
	return f.Page.Title + ": " + f.Section.Title
}
