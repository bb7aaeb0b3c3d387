package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 listens", 1: "1 listen", 999: "999 listens", 1000: "1,000 listens",
		1234567: "1,234,567 listens"} {
		require.Equal(t, want, Count(n, "listen", "listens"))
	}
	ms := int64(59_600)
	require.Equal(t, "1:00", length(&ms))
	for n, want := range map[int]string{1: "1 byte", 999: "999 bytes", 1500: "1.5 kB", 34_567: "34 kB",
		2_345_678: "2.3 MB"} {
		require.Equal(t, want, size(n))
	}
	require.Empty(t, length(nil))
	_, err := dict("a")
	require.Error(t, err)
}

func TestTimesAndLinksInSentences(t *testing.T) {
	t.Parallel()
	text := stamp
	want := `<time datetime="2026-11-20T21:04:11Z" data-time="ago" ` +
		`title="20 Nov 2026, 21:04 UTC">20 Nov 2026, 21:04 UTC</time>`
	require.EqualValues(t, want, timeElement(text, "ago"))
	require.EqualValues(t, want, timeElement(&text, "ago"))
	require.Contains(t, timeElement(text, "date"), ">20 November 2026<")
	for _, none := range []any{nil, (*string)(nil), "soon", 7} {
		require.Empty(t, timeElement(none, "ago"))
	}
	require.EqualValues(t, `Wait &lt;b&gt; until `+strings.Replace(want, "ago", "at", 1)+`.`,
		say("Wait <b> until 2026-11-20T21:04:11Z."))
	require.EqualValues(t,
		`Open <a href="https://x.org/a?b=1&amp;c" target="_blank" rel="noreferrer">`+
			`https://x.org/a?b=1&amp;c</a>: &#34;it&#34; stands there.`,
		guide(`Open https://x.org/a?b=1&c: "it" stands there.`))
	require.EqualValues(t, "For example https://music.example.org.",
		guide("For example https://music.example.org."))
}
