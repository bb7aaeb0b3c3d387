package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The limits of a file with settings. The sample with every setting has 8 KiB and 4 levels. Aliases are refused: each
// repeats what it refers to, or refers to itself, so a few of them fill the memory.
const (
	maxFile     = 256 << 10 // bytes
	maxIndent   = 64        // spaces before a line, and hyphens
	maxBrackets = 64        // open at once
)

// readBounded reads a file of at most that many bytes.
func readBounded(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d KiB", file, most>>10)
	}
	return text, err
}

// hostile says what in a YAML text would need too much time or memory; empty for nothing.
func hostile(text []byte) string {
	brackets := 0
	for line := range bytes.Lines(text) {
		if indent := len(line) - len(bytes.TrimLeft(line, " -")); indent > maxIndent {
			return fmt.Sprintf("a line in it begins with more than %d spaces", maxIndent)
		}
		for _, c := range line { // those in strings and comments too, which have far fewer
			switch c {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets--
			}
			if brackets > maxBrackets {
				return fmt.Sprintf("more than %d brackets in it are open at once", maxBrackets)
			}
		}
	}
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Type == token.AliasType {
			return fmt.Sprintf("line %d has an alias (*name), which settings do not need; write its value out. "+
				"A value that begins with a star needs quotes", t.Position.Line)
		}
	}
	return ""
}

// parse reads a YAML text, or says what is wrong with it.
func parse(file string, text []byte) (tree map[string]node, problem string) {
	defer func() {
		if p := recover(); p != nil { // the parser's, as for a tag that does not fit its value
			tree, problem = nil, fmt.Sprintf("%s is not valid YAML, or has something in it that no setting needs, "+
				"such as a tag (!!…). Write it like the sample, configs/reprise.yaml.", file)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&tree); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Sprintf("%s is not valid YAML:\n%s", file,
			strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Sprintf("%s has more than one part: a line of three hyphens begins another. Put all settings "+
			"into one.", file)
	}
	return tree, ""
}
