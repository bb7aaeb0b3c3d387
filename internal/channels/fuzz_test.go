package channels

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse requires that the address of a channel is refused or kept in a form that is read again as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ntfy://ntfy.sh/topic", "ntfy://user:pass@host/topic?priority=high",
		"gotify://host/path/TOKEN", "discord://token@12345", "https://discord.com/api/webhooks/1/token",
		"mailto:a@example.org", "smtp://user:password@mail.example.org:587/?to=a@example.org&from=b@example.org",
		"https://example.org/hook", "http://[::1", "ntfy://", "smtp://%00@host", "json://example.org/a?b=c"} {
		for _, k := range kinds {
			f.Add(text, k.Name)
		}
		f.Add(text, "")
	}
	f.Fuzz(func(t *testing.T, text, kind string) {
		name, kept, err := Parse(text, kind)
		if err != nil {
			require.NotEmpty(t, Problem(err))
			require.Empty(t, kept)
			return
		}
		require.NotContains(t, kept, "\n")
		again, same, err := Parse(kept, name)
		require.NoError(t, err, "%q was kept as %q", text, kept)
		require.Equal(t, name, again)
		require.Equal(t, kept, same, "%q", text)
		require.LessOrEqual(t, strings.Count(Shown(name, kept).String(), "\n"), 0)
	})
}
