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
	inText = regexp.MustCompile("`((?:server|reprise|make|go run|go test) [^`]+)`")
	others = regexp.MustCompile("`((?:[a-z][a-z0-9-]+|\\./[a-z]+) (?:-|\\./|/|[a-z])[^`]*)`")
	tools  = regexp.MustCompile(`^(curl|cp|mv|docker|podman|journalctl|systemctl|createdb|pg_dump|psql|` +
		`fail2ban-\w+|apt|apt-get|rpm|dnf|zypper|apk|rc-\w+|runuser|sha256sum|nginx|caddy|haproxy|` +
		`jq|sqlite3|git|npm|tar|openssl) `)
	block   = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	inBlock = regexp.MustCompile(`(?m)^((?:server|make|go run|go test) .*?)(?: {2,}#.*)?$`)
	target  = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// unrun says why a command of another program in the text of a document is not run, by what it begins with.
var unrun = map[string]string{
	"createdb":       "tests on Postgres create their databases by SQL",
	"journalctl":     "needs systemd as the first process",
	"systemctl":      "needs systemd as the first process",
	"docker":         "needs Docker; `make dist-check` runs the image without it",
	"apt-get":        "`make dist-check` installs, upgrades and removes each package",
	"dnf":            "`make dist-check` installs the same package with rpm",
	"rpm":            "`make dist-check` installs, upgrades and removes each package",
	"runuser":        "needs the user that a package makes; `make dist-check` runs other commands like that",
	"sha256sum":      "`make dist-check` checks the sums",
	"fail2ban-regex": "needs fail2ban; test.TestFilterOfFail2banReadsTheLog holds the filter against the log",
	"cp internal/":   "copies a file that is compiled and tested where it is",
	"cp -r internal": "copies a folder that is compiled and tested where it is",
}

// TestOtherCommandsHaveAReason finds commands of other programs in the text, outside of blocks.
func TestOtherCommandsHaveAReason(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	used := map[string]bool{}
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md") {
		text := strings.Join(strings.Fields(fenced.ReplaceAllString(read(t, page), "")), " ")
		for _, m := range others.FindAllStringSubmatch(text, -1) {
			known := !tools.MatchString(m[1])
			for begin := range unrun {
				if strings.HasPrefix(m[1], begin) {
					known, used[begin] = true, true
				}
			}
			require.True(t, known, "%s names %q, and no test runs it: run it, or say here why not", page, m[1])
		}
	}
	for begin := range unrun {
		require.True(t, used[begin], "no document has %q any more", begin)
	}
}

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
			case words[0] == "server", words[0] == "reprise":
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
