package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// command runs a command of the server in this process, and returns what it printed.
func command(t testing.TB, stdin string, environ []string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, environ, strings.NewReader(stdin), &out, &out)
	return out.String(), err
}

func TestTheCommandLineSaysWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"chek":                           `there is no command "chek"; did you mean -check?`,
		"bakup x":                        `there is no command "bakup"; did you mean backup?`,
		"frobnicate":                     `there is no command "frobnicate"` + seeHelp,
		"-chek":                          "flag provided but not defined: -chek; did you mean -check?",
		"backup -data-dirr x y":          "flag provided but not defined: -data-dirr; did you mean -data-dir?",
		"backup":                         "server backup FILE",
		"reset-password":                 "server reset-password NAME",
		"reset-password Anna Lena":       `takes one NAME, and there is also "Lena"`,
		"rotate-key now":                 `rotate-key takes nothing behind it, and there is "now"`,
		"-check backup x":                "do not go with the command backup",
		"-check -demo":                   "give one of them",
		"-config":                        "flag needs an argument: -config",
		"rotate-key -listen nonsense":    `"nonsense" is not an address`,
		"backup x -config /no/such/file": "The configuration file cannot be read",
	} {
		_, err := command(t, "", nil, strings.Fields(line)...)
		require.ErrorContains(t, err, want, line)
	}
	help, err := command(t, "", nil, "-help")
	require.NoError(t, err)
	for name := range commands {
		require.Contains(t, help, "server "+name)
	}
	out, err := command(t, "", nil, "-version")
	require.NoError(t, err)
	require.Contains(t, out, "reprise "+version)
	for _, line := range []string{"-data-dir d -listen :1 backup f", "backup -data-dir d f -listen :1", "backup f -listen=:1 --data-dir=d"} {
		o, err := parse(strings.Fields(line))
		require.NoError(t, err)
		require.Equal(t, options{dataDir: "d", listen: ":1", command: "backup", operand: "f"}, o, line)
	}
}
