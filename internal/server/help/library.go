package help

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Page is a document.
type Page struct {
	Name     string // of the file, without ".md"
	Title    string
	Sections []Section // the first is what comes before the first heading below the title
	HTML     string    // without the title
}

// Section is a part of a document below a heading.
type Section struct {
	ID, Title string // empty in the first section
	Level     int    // of the heading: 2 and up; 0 in the first section
	text      string // for searching
}

// Library is the documents by their names. It is not changed, and may be used from several goroutines.
type Library struct {
	pages  map[string]*Page
	prefix string
}

// Read reads the documents in files. Links between them get the prefix, as in "/help/". An error means a document
// that cannot be shown, or a link to a document or a heading that is not there.
func Read(files fs.FS, prefix string) (*Library, error) {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	l := &Library{pages: map[string]*Page{}, prefix: prefix}
	for _, name := range names {
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		p, err := l.read(strings.TrimSuffix(name, ".md"), source)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		l.pages[p.Name] = p
	}
	return l, nil
}

// Page returns the document with a name; nil if there is none.
func (l *Library) Page(name string) *Page { return l.pages[name] }

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func (l *Library) read(name string, source []byte) (*Page, error) {
	doc := markdown.Parser().Parse(text.NewReader(source))
	if comment, ok := doc.FirstChild().(*ast.HTMLBlock); ok { // it says how the document is made
		doc.RemoveChild(doc, comment)
	}
	title, ok := doc.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		return nil, fmt.Errorf("the first line is not a title")
	}
	p := &Page{Name: name, Title: plain(title, source), Sections: []Section{{}}}
	doc.RemoveChild(doc, title)
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			p.Sections = append(p.Sections, Section{ID: string(id.([]byte)), Title: plain(h, source), Level: h.Level})
			continue
		}
		last := &p.Sections[len(p.Sections)-1]
		last.text += plain(n, source) + " "
	}
	if err := l.link(doc); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, doc); err != nil {
		return nil, err
	}
	p.HTML = strings.ReplaceAll(b.String(), "<th></th>", "<td></td>") // a corner is no heading
	return p, nil
}

// link turns links to other documents into links to their pages.
func (l *Library) link(doc ast.Node) error {
	var elsewhere []*ast.Link
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to := string(link.Destination)
		file, fragment, _ := strings.Cut(to, "#")
		switch {
		case strings.Contains(to, "://"), strings.HasPrefix(to, "#"), strings.HasPrefix(to, "/"):
		case path.Ext(file) == ".md" && path.Base(file) == file:
			to = l.prefix + strings.TrimSuffix(file, ".md")
			if fragment != "" {
				to += "#" + fragment
			}
			link.Destination = []byte(to)
		default: // another file of the repository
			elsewhere = append(elsewhere, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range elsewhere {
		parent := link.Parent()
		for c := link.FirstChild(); c != nil; c = link.FirstChild() {
			parent.InsertBefore(parent, link, c)
		}
		parent.RemoveChild(parent, link)
	}
	return err
}

// plain returns the words of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // plain never fails
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			b.Write(n.(interface{ Lines() *text.Segments }).Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}
