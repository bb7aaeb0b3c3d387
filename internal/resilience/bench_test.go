package resilience

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// typicalErrors are the failures of daily life, as the transport and the adapters report them.
func typicalErrors() map[string]error {
	return map[string]error{
		"answer":   &AnswerError{Endpoint: "GET /v1/me", Status: 503},
		"network":  &NetworkError{Endpoint: "GET /v1/me", Err: fmt.Errorf("connection refused")},
		"contract": &ContractError{Endpoint: "GET /v1/me", What: "not valid JSON"},
		"wrapped":  fmt.Errorf("page 3: %w", &AnswerError{Endpoint: "GET /v1/me", Status: 503}),
	}
}

func BenchmarkClassify(b *testing.B) {
	for name, err := range typicalErrors() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				VerdictOf(err)
			}
		})
	}
}

func TestClassifyAllocatesNothing(t *testing.T) {
	for name, err := range typicalErrors() {
		require.Zero(t, testing.AllocsPerRun(100, func() { VerdictOf(err) }), name)
	}
}
