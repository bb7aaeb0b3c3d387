package test

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHealthAsksTheServer(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	at := strings.TrimPrefix(p.url, "http://")
	p.visitor().eventually("healthy", func() bool {
		said, err := command(t, "", nil, "-health", "-listen", at)
		return err == nil && said == "Reprise works at "+at+".\n"
	})
	require.NoError(t, p.stop(syscall.SIGTERM))
	said, err := command(t, "", nil, "-health", "-listen", at)
	require.ErrorIs(t, err, errProblems)
	require.Contains(t, said, "Reprise does not answer at "+at)
}

// Promise: The number of the next release is in one place for each reader: the program, make dist, and the changelog.
func TestTheVersionIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	said, err := command(t, "", nil, "-version")
	require.NoError(t, err)
	m := regexp.MustCompile(`^reprise (\d+\.\d+\.\d+)-dev \(not a release\), commit \w+, go1\.\d+\S*\n$`).
		FindStringSubmatch(said)
	require.NotNil(t, m, said)
	for file, line := range map[string]string{
		"../Makefile":         "(?m)^VERSION := " + regexp.QuoteMeta(m[1]) + "$",
		"../CHANGELOG.md":     "(?m)^## " + regexp.QuoteMeta(m[1]) + "( |$)",
		"../web/openapi.yaml": "(?m)^  version: " + regexp.QuoteMeta(m[1]) + "$",
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Regexp(t, line, string(text), file)
	}
}
