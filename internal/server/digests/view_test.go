package digests

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/digest"
	"reprise/internal/words"
)

func TestSpendingIsSummedUpByMonthAndCurrency(t *testing.T) {
	t.Parallel()
	at := func(month time.Month) time.Time { return time.Date(2026, month, 3, 12, 0, 0, 0, time.UTC) }
	spent := []digest.Spent{
		{At: at(11), PromptTokens: 1, CompletionTokens: 2, Cost: digest.Cost{Micros: 1_500_000, Currency: "EUR"}},
		{At: at(11), PromptTokens: 10, CompletionTokens: 20, Cost: digest.Cost{Micros: 4, Currency: "EUR"}},
		{At: at(11), PromptTokens: 5, Cost: digest.Cost{}},
		{At: at(10), PromptTokens: 7, Cost: digest.Cost{Currency: "EUR"}},
	}
	require.Equal(t, []spendingView{
		{"November 2026", 2, 11, 22, &Cost{"1.500004", "EUR"}}, {"November 2026", 1, 5, 0, nil},
		{"October 2026", 1, 7, 0, &Cost{"0.00", "EUR"}},
	}, byMonth(words.English, spent, time.UTC))
	require.Empty(t, byMonth(words.English, nil, time.UTC))
	for micros, want := range map[int64]string{0: "0.00", 1: "0.000001", 10_000: "0.01", 100_000: "0.10",
		123_400: "0.1234", 12_000_000: "12.00"} {
		require.Equal(t, want, amount(micros), fmt.Sprint(micros))
	}
	for monday, want := range map[string]string{"2026-11-09": "9–15 November 2026",
		"2026-11-30": "30 November 2026 – 6 December 2026",
		"1999-12-27": "27 December 1999 – 2 January 2000", "?": "?"} {
		require.Equal(t, want, WeekName(words.English, monday))
	}
	require.Equal(t, "9.–15. November 2026", WeekName(words.German, "2026-11-09"))
}

func TestACostIsSaidInCents(t *testing.T) {
	t.Parallel()
	ctx := words.With(t.Context(), words.English)
	all := map[string]string{"0.000418": "less than 1 cent", "0.02": "0.02 USD", "1.239": "1.24 USD"}
	for amount, says := range all {
		require.Equal(t, says, Cost{amount, "USD"}.said(ctx))
	}
	require.Equal(t, "less than 0.01 SEK", Cost{"0.004", "SEK"}.said(ctx))
}
