package health

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/metrics"
)

func TestNumbersOfHealthInWords(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{0: "0", 0.0001: "0.1", 0.013: "1.3", 0.04: "4", 0.0996: "10",
		0.34: "34", 0.996: "100", 1: "100"} {
		require.Equal(t, want+"\u00a0%", percent(share))
	}
	require.Equal(t, "no success", perSuccess(metrics.Tally{Attempts: 3, Failures: 3}))
	require.Equal(t, "–", perSuccess(metrics.Tally{}))
}
