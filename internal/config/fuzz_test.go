package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzEachSetting gives a text to every setting: it is refused with a reason, or the settings as a whole can be judged.
func FuzzEachSetting(f *testing.F) {
	for _, text := range []string{"", "5m", "1h30m", "-1s", "9223372036854775807ns", "1e99h", "0", "0.5", "NaN",
		"1e309", "[a, b]", "true", "10.0.0.0/8", "fe80::%x/10", "https://example.org", "//", "ntfy://ntfy.sh/x",
		"postgres://h/d", "debug", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c Config
		for _, s := range c.settings() {
			if err := s.set(text); err != nil {
				require.NotEmpty(t, err.Error(), s.Path)
			}
		}
		require.GreaterOrEqual(t, c.ListensEvery, time.Duration(0))
		require.GreaterOrEqual(t, c.ShutdownTimeout, time.Duration(0))
		require.GreaterOrEqual(t, c.Workers, 0)
		c.validate()
	})
}
