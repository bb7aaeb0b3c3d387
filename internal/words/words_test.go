package words

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLanguageFollowsChoiceThenBrowser(t *testing.T) {
	for _, c := range []struct {
		chosen, accept string
		want           *Language
	}{
		{"", "", English},
		{"", "de-AT,de;q=0.9,en;q=0.8", German},
		{"", "fr,de;q=0.5", German},
		{"", "fr", English},
		{"en", "de", English},
		{"de", "en", German},
		{"xx", "de", German},
		{"", ";;nonsense", English},
	} {
		require.Equal(t, c.want.Code(), Match(c.chosen, c.accept).Code(), "%+v", c)
	}
}

func TestATextIsStoredAndReadAgain(t *testing.T) {
	at := time.Date(2027, 1, 14, 9, 5, 0, 0, time.UTC)
	text := New("date.other_day", "Day", 1200, "Month", New("date.m1"), "Clock", at)
	for _, whole := range []Text{text, Join(text, New("date.m3")), Plain(`say "hi"`), {},
		New("date.month", "Month", Day(at), "Year", "x")} {
		stored, err := whole.Value()
		require.NoError(t, err)
		var back Text
		require.NoError(t, back.Scan(stored))
		require.Equal(t, whole.In(German), back.In(German))
		b, err := json.Marshal(whole)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, whole, back)
	}
	require.Equal(t, "1,200 January, 2027-01-14T09:05:00Z", text.String())
	require.Equal(t, "1.200. Januar, 2027-01-14T09:05:00Z", text.In(German))
	require.Equal(t, "1,200 January, 2027-01-14T09:05:00Z March", Join(text, Text{}, New("date.m3")).String())
	require.Equal(t, "14. Januar 2027 x", New("date.month", "Month", Day(at), "Year", "x").In(German))
}

func TestTimesAreWrittenOutForMessages(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2027, 1, 14, 12, 0, 0, 0, berlin)
	require.Equal(t, "Weiter um 14:05.", German.Plain("Weiter um 2027-01-14T13:05:00Z.", now))
	require.Equal(t, "Weiter 15. Januar, 01:05.", German.Plain("Weiter 2027-01-15T00:05:00.000Z.", now))
}
