package accounts

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func list(t testing.TB) []string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(common))
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return strings.Fields(string(b))
}

func TestCommonPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	all := list(t)
	require.Greater(t, len(all), 30_000)
	for _, top := range []string{"123456", "password", "qwerty", "iloveyou", "dragon", "1q2w3e4r5t", "q1w2e3r4t5",
		"password123", "manchester", "4815162342", "basketball", "1qaz2wsx3edc"} {
		require.Contains(t, all, top)
	}
	long := 0
	for _, p := range all {
		if len(p) < 10 {
			continue
		}
		if long++; long%40 == 0 { // each takes some milliseconds
			require.NotEmpty(t, Weakness(p), p)
			require.NotEmpty(t, Weakness(strings.ToUpper(p)), p)
		}
	}
	require.Greater(t, long, 1500)
}

func TestSmallChangesDoNotHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		password string
		want     words.Text
	}{
		{"Password123", isCommon}, {"Password2026!", isCommon}, {"P4ssw0rd!!", isCommon},
		{"passwordpassword", isCommon}, {"  dragon1987  ", isCommon}, {"iloveyou!!!!", isCommon},
		{"$unshine2024", isCommon}, {"2024monkey2024", isCommon}, {"MANCHESTER", isCommon},
		{"basketball", isCommon},
		{"xxxxxxxxxx", isRepeated}, {"abababababab", isRepeated}, {"abcabcabcabc", isRepeated},
		{"1234567890", isRepeated}, {"9876543210", isRepeated}, {"abcdefghijkl", isRepeated},
		{"qwertyuiop", isRepeated}, {"poiuytrewq", isRepeated}, {"qwertzuiop", isRepeated},
		{"12345678901234", isRepeated}, {"1qaz2wsx3edc", isRepeated},
		{"Wolfgang Amadeus", isOwn}, {"wolfgang amadeus1756", isOwn}, {"Reprise2026!", isOwn},
		{"reprise-reprise", isOwn},
	} {
		require.Equal(t, c.want, Weakness(c.password, "Wolfgang Amadeus", "reprise"), c.password)
	}
}

func TestGoodPasswordsAreTaken(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"a few random words", "correct horse battery",
		"correct-horse-battery", "Kx7!mQ2zpL", "wolfgang likes green tea", "der Hund frisst Käse",
		"пять слов для теста", "reprise of my old songs", "7204419863", "ünïcödé wörds", "tr0ub4dor&3x",
		"monkey8374912384759", strings.Repeat("long words ", 93)} {
		require.Empty(t, Weakness(p, "Wolfgang", "reprise"), p)
	}
}

// The longest password costs no more than the shortest.
func TestJudgingIsFast(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	for _, p := range []string{strings.Repeat("ab", 511) + "c", strings.Repeat("a", 1023) + "b"} {
		Weakness(p, "ann")
	}
	require.Less(t, time.Since(begin), 20*time.Second)
}

func FuzzWeakness(f *testing.F) {
	for _, p := range []string{"", "password", "\xff\xfe", "Ünïcödé wörds", "ababababab", "1qaz2wsx", "a\x00b"} {
		f.Add(p, "Ann")
	}
	f.Fuzz(func(t *testing.T, p, name string) {
		if len(p) > 1024 || len(name) > 256 {
			t.Skip("longer ones are refused before")
		}
		_ = Weakness(p, name, "reprise")
		require.Contains(t, []words.Text{isCommon, isRepeated, isOwn}, Weakness("password123", name))
	})
}
