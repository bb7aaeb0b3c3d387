package accounts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestAReaderHasTheirLanguageAndZone(t *testing.T) {
	t.Parallel()
	browser := words.With(t.Context(), words.German)
	require.Equal(t, words.German, words.From(User{}.Reader(browser)), "the browser's, without a choice")
	require.Nil(t, words.Zone(User{}.Reader(browser)))
	ctx := User{Choices: Choices{Language: "en", Zone: "Europe/Berlin"}}.Reader(browser)
	require.Equal(t, words.English, words.From(ctx))
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	require.Equal(t, "1 July 2026, 14:00", words.From(ctx).Moment(at.In(words.Zone(ctx))))
}

func TestChoicesThatThereAreNot(t *testing.T) {
	t.Parallel()
	a := &Accounts{store: &memory{}}
	for _, c := range []Choices{{Language: "eo"}, {Zone: "Mars/Olympus"}, {Zone: "Local"}, {Theme: "pink"}} {
		require.ErrorAs(t, a.Choose(t.Context(), 1, c), new(InputError), "%v", c)
	}
	require.NoError(t, a.Choose(t.Context(), 1, Choices{}))
	require.NoError(t, a.Choose(t.Context(), 1, Choices{Language: "de", Zone: "Europe/Berlin", Theme: Dark}))
}
