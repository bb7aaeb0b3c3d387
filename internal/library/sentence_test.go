package library

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesInSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The moon says no.":                       "The moon says no.",
		"What The moon allows is used up.":        "What the moon allows is used up.",
		"It waits. The moon is asked by The moon": "It waits. The moon is asked by the moon",
		"The moon and The moon? The moon!":        "The moon and the moon? The moon!",
		"of (The moon)":                           "of (the moon)",
		"":                                        "",
	} {
		require.Equal(t, want, InSentence(text, "The moon"))
	}
	require.Equal(t, "What Last.fm allows", InSentence("What Last.fm allows", "Last.fm"))
	require.Equal(t, "Try The Cure", InSentence("Try The Cure", "The moon"), "only the name")
}
