package docs_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/cli"
)

var (
	inText  = regexp.MustCompile("`((?:server|make|go run|go test) [^`]+)`")
	block   = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	inBlock = regexp.MustCompile(`(?m)^((?:server|make|go run|go test) .*?)(?: {2,}#.*)?$`)
	target  = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// TestNamedCommandsExist checks the commands in the text of the documents. Those in blocks also run: see test.
func TestNamedCommandsExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	targets, found := target.FindAllStringSubmatch(read(t, "../Makefile"), -1), 0
	makes := map[string]bool{}
	for _, m := range targets {
		makes[m[1]] = true
	}
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md") {
		text := read(t, page)
		commands := inText.FindAllStringSubmatch(text, -1)
		for _, b := range block.FindAllStringSubmatch(text, -1) {
			commands = append(commands, inBlock.FindAllStringSubmatch(b[1], -1)...)
		}
		for _, m := range commands {
			found++
			words := strings.Fields(m[1])
			switch {
			case words[0] == "make":
				require.True(t, makes[words[1]], "%s: the Makefile has no %q", page, words[1])
			case words[0] == "server":
				runs(t, page, words[1:])
			case words[1] == "run":
				require.Equal(t, "./cmd/server", words[2], page)
				runs(t, page, words[3:])
			default:
				tests(t, page, words[2:])
			}
		}
	}
	require.Greater(t, found, 50)
}

// runs requires that the server accepts a command line, whose operands may be left out.
func runs(t *testing.T, page string, args []string) {
	t.Helper()
	_, err := cli.Parse(args)
	for range 2 {
		if err == nil || errors.Is(err, flag.ErrHelp) {
			return
		}
		args = append(args, "NAME")
		_, err = cli.Parse(args)
	}
	require.NoError(t, err, "%s: server %s", page, strings.Join(args, " "))
}

// tests requires that packages have tests, which can rewrite something if the command says so.
func tests(t *testing.T, page string, args []string) {
	t.Helper()
	for _, dir := range args {
		if !strings.HasPrefix(dir, "./") || strings.Contains(dir, "...") {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "%s: %s has no tests", page, dir)
		update := false
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			update = update || strings.Contains(string(b), `flag.Bool("update"`)
		}
		require.True(t, update || args[len(args)-1] != "-update", "%s: %s has no -update", page, dir)
	}
}
