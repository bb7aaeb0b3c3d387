package words

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/feature/plural"
)

// French is a contributed language, as any other.
var French = ByCode("fr")

func TestLanguagesAreFound(t *testing.T) {
	var codes []string
	for _, l := range Languages() {
		codes = append(codes, l.Code())
	}
	require.Equal(t, []string{"en", "de"}, codes[:2])
	require.True(t, slices.IsSorted(codes[2:]))
	require.Contains(t, codes, "fr")
}

// Whoever reads a language that lacks a sentence reads it in English, with what is put into it.
func TestWhatALanguageLacksIsInEnglish(t *testing.T) {
	few := newLanguage("fr")
	few.load = func() sentences {
		return sentences{"waiting.pair": {plural.Other: "{{.A}} et {{.B}}"}}
	}
	two := New("waiting.listens", "Count", 2)
	require.Equal(t, "2 listens et 2 listens", New("waiting.pair", "A", two, "B", two).In(few))
	require.Equal(t, "no.such", New("no.such").In(few))
}

func TestFrenchNumbersAndDates(t *testing.T) {
	for n, want := range map[int]string{0: "0 écoute", 1: "1 écoute", 2: "2 écoutes", 1_000: "1\u00a0000 écoutes",
		2_000_001: "2\u00a0000\u00a0001 écoutes"} {
		require.Equal(t, want, New("waiting.listens", "Count", n).In(French))
	}
	require.Equal(t, "0 listens", New("waiting.listens", "Count", 0).In(English))
	require.Equal(t, "0,5", French.Decimal(0.5, 1))
	first := time.Date(2027, 1, 1, 9, 5, 0, 0, time.UTC)
	require.Equal(t, "1er janvier 2027", French.Day(first))
	require.Equal(t, "1er janv.", French.ShortDay(first))
	require.Equal(t, "1 January 2027", English.Day(first))
	require.Equal(t, "2 janvier 2027 à 09:05", French.Moment(first.AddDate(0, 0, 1)))
	require.Equal(t, "Vendredi 1er janvier", French.DayOf(first, first.AddDate(0, 0, 5)))
	require.Equal(t, "depuis le 1er janvier à 09:05",
		French.Plain("depuis 2027-01-01T09:05:00Z", first.AddDate(0, 0, 1)))
}

func TestLanguageFollowsChoiceThenBrowser(t *testing.T) {
	for _, c := range []struct {
		chosen, accept string
		want           *Language
	}{
		{"", "", English},
		{"", "de-AT,de;q=0.9,en;q=0.8", German},
		{"", "fr-CA,de;q=0.5", French},
		{"", "eo,de;q=0.5", German},
		{"", "eo", English},
		{"fr", "de", French},
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
