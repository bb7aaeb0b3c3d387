package channels

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzQuietHours requires that a time of day is refused or lies within a day.
func FuzzQuietHours(f *testing.F) {
	for _, text := range []string{"", "22:30", "24:00", "-1:00", "7:5", "07:05:09", "٢٢:٣٠", "99999999999:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		minutes, err := minutesOf(text)
		if err != nil {
			require.Zero(t, minutes)
			return
		}
		require.GreaterOrEqual(t, minutes, -1)
		require.Less(t, minutes, 24*60)
		require.Equal(t, text == "", minutes == -1)
	})
}
