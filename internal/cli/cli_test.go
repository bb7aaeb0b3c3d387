package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"chek":                      `there is no command "chek"; did you mean -check?`,
		"bakup x":                   `there is no command "bakup"; did you mean backup?`,
		"frobnicate":                `there is no command "frobnicate"` + seeHelp,
		"-chek":                     "flag provided but not defined: -chek; did you mean -check?",
		"backup -data-dirr x y":     "flag provided but not defined: -data-dirr; did you mean -data-dir?",
		"backup":                    "server backup FILE",
		"reset-password":            "server reset-password NAME",
		"reset-password Anna Lena":  `takes one NAME, but there is also "Lena"`,
		"rotate-key now":            `nothing may follow rotate-key, but there is "now"`,
		"-check backup x":           "don't go with the command backup",
		"-check -demo":              "use one of them",
		"-config":                   "flag needs an argument: -config",
		"-data-dir d -listn :1 -xy": "flag provided but not defined: -listn; did you mean -listen?",
	} {
		_, err := Parse(strings.Fields(line))
		require.ErrorContains(t, err, want, line)
	}
}

func TestUsageListsEveryCommand(t *testing.T) {
	t.Parallel()
	for name := range commands {
		require.Contains(t, Usage, "server "+name)
	}
}

func TestFlagsMayFollowTheCommand(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"-data-dir d -listen :1 backup f", "backup -data-dir d f -listen :1",
		"backup f -listen=:1 --data-dir=d"} {
		o, err := Parse(strings.Fields(line))
		require.NoError(t, err)
		require.Equal(t, Options{DataDir: "d", Listen: ":1", Command: "backup", Operand: "f"}, o, line)
	}
}
