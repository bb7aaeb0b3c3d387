package providers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

func TestTheAdviceOfAnAnswer(t *testing.T) {
	t.Parallel()
	own := &resilience.Meaning{Advice: words.Plain("Ask the owner.")}
	for want, e := range map[string]*resilience.AnswerError{
		"Ask the owner.": {Status: 200, HTML: true, Meaning: own},
		"The server answers, but redirects to https://music.example.org.": {MovedTo: "https://music.example.org",
			Meaning: &resilience.Meaning{Advice: words.Text{}}},
		"": {Status: 502, HTML: true},
	} {
		require.Equal(t, want, providers.Advice(e).String())
	}
	require.Equal(t, words.New("astray.page"), providers.Advice(&resilience.AnswerError{Status: 200, HTML: true}))
}
