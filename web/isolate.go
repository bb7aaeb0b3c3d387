package web

import (
	"errors"
	"html/template"
	"io"
	"reflect"
	"regexp"
	"strings"
	"text/template/parse"
	"unicode"
	"unicode/utf8"
)

// mostMarks is how many combining marks one letter keeps. Languages need up to four.
const mostMarks = 6

// U+2068 begins a stretch of text that does not reorder what is around it, and U+2069 ends it. They stand in attributes
// for what the element bdi is in text.
const (
	beginIsolate = "\u2068"
	endIsolate   = "\u2069"
)

// isControl reports whether a character overrides or embeds the direction of the text around it. They are not shown: a
// name that ends with one would turn what follows around, and one could end the isolation itself.
func isControl(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// hasDirection reports whether a character is written from right to left, or marks that.
func hasDirection(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff || r == 0x200e || r == 0x200f
}

// readable returns a text without what would reorder the text around it and without piles of combining marks. foreign
// says whether it has to be isolated from the text around it.
func readable(text string) (clean string, foreign bool) {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < utf8.RuneSelf
	}
	if plain {
		return text, false
	}
	marks := 0
	clean = strings.Map(func(r rune) rune {
		if isControl(r) {
			foreign = true
			return -1
		}
		foreign = foreign || hasDirection(r)
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
			return r
		}
		if marks++; marks > mostMarks {
			foreign = true
			return -1
		}
		return r
	}, text)
	return clean, foreign
}

// textOf returns a value that is a string, or a pointer to one.
func textOf(v any) (text string, ok bool) {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.String {
		return "", false
	}
	return value.String(), true
}

// isolated returns what a page shows of a value in its text. Text in another direction gets an element of its own.
func isolated(v any) any {
	if html, ok := v.(template.HTML); ok { // a sentence of ours, which keeps its direction if it begins with a name
		clean, foreign := readable(string(html))
		if foreign {
			clean = `<bdi dir="ltr">` + clean + "</bdi>"
		}
		return template.HTML(clean)
	}
	text, ok := textOf(v)
	if !ok {
		return v
	}
	clean, foreign := readable(text)
	if !foreign {
		return v
	}
	return template.HTML("<bdi>" + template.HTMLEscapeString(clean) + "</bdi>")
}

// isolatedPlain is isolated for places that take no elements: the title of a page, and attributes that people read.
func isolatedPlain(v any) any {
	text, ok := textOf(v)
	if !ok {
		return v
	}
	clean, foreign := readable(text)
	if !foreign {
		return v
	}
	return beginIsolate + clean + endIsolate
}

// What html/template adds to an action: in text, in an attribute, and in the title of a page.
const (
	escapers      = "_html_template_"
	textEscaper   = "_html_template_htmlescaper"
	attrEscaper   = "_html_template_attrescaper"
	rcdataEscaper = "_html_template_rcdataescaper"
)

// read matches the text before an action whose value people read, though it is not in the text of the page.
var read = regexp.MustCompile(`(?s)( (title|alt|aria-label|aria-description)="[^"]*|<title>[^<]*)$`)

// isolate makes a set of templates isolate every value that they show, so that no template can forget it. Which places
// are text, html/template knows when it has escaped the set.
func isolate(set *template.Template) error {
	err := set.Execute(io.Discard, nil) // escapes; it cannot go far without data
	if e, ok := errors.AsType[*template.Error](err); ok {
		return e
	}
	for _, t := range set.Templates() {
		if t.Tree != nil && t.Tree.Root != nil {
			isolateList(t.Tree, t.Tree.Root)
		}
	}
	return nil
}

func isolateList(tree *parse.Tree, list *parse.ListNode) {
	if list == nil {
		return
	}
	var before strings.Builder
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			before.WriteString(string(n.Text))
		case *parse.ActionNode:
			isolatePipe(tree, n.Pipe, before.String())
		case *parse.IfNode:
			isolateBranch(tree, &n.BranchNode)
		case *parse.RangeNode:
			isolateBranch(tree, &n.BranchNode)
		case *parse.WithNode:
			isolateBranch(tree, &n.BranchNode)
		}
	}
}

func isolateBranch(tree *parse.Tree, n *parse.BranchNode) {
	isolateList(tree, n.List)
	isolateList(tree, n.ElseList)
}

// isolatePipe puts a function of ours before the escaper of an action.
func isolatePipe(tree *parse.Tree, pipe *parse.PipeNode, before string) {
	for i, command := range pipe.Cmds {
		id, ok := command.Args[0].(*parse.IdentifierNode)
		if !ok || !strings.HasPrefix(id.Ident, escapers) {
			continue
		}
		name := ""
		switch {
		case id.Ident == textEscaper:
			name = "isolated"
		case (id.Ident == attrEscaper || id.Ident == rcdataEscaper) && read.MatchString(before):
			name = "isolatedPlain"
		}
		if name != "" {
			call := parse.NewIdentifier(name).SetTree(tree).SetPos(pipe.Pos)
			added := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pipe.Pos, Args: []parse.Node{call}}
			rest := append([]*parse.CommandNode{added}, pipe.Cmds[i:]...)
			pipe.Cmds = append(pipe.Cmds[:i:i], rest...)
		}
		return
	}
}
