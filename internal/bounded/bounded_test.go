package bounded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostileJSONIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, what string }{
		{"millions of empty playlists", list("{}", 3_400_000), "a list of more than 20,000 elements"},
		{"lists in lists", list(list("1", 15_000), 20),
			"lists of more than 200,000 elements in all"},
		{"nothing but numbers", list("1", 20_001), "a list of more than 20,000 elements"},
		{"an object as a map", object(1_001), "an object of more than 1,000 fields"},
		{"many maps", list(object(1_000), 1_000), "more than 1,000,000 values in all"},
		{"a deep pit", strings.Repeat("[", 5_000_000), "more than 32 levels"},
		{"deep and closed", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), "more than 32 levels"},
		{"a book for a title", `{"title":"` + strings.Repeat("a", 256<<10+1) + `"}`,
			"a text of more than 256 KiB"},
		{"a book for a name", `{"` + strings.Repeat(`\"`, 200<<10) + `":1}`, "a text of more than 256 KiB"},
		{"a string without end", `["` + strings.Repeat("a", 1<<20), "a text of more than 256 KiB"},
		{"an endless number", `{"n":` + strings.Repeat("9", 1_001) + `}`, "a number of more than 1,000 digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e *Error
			require.ErrorAs(t, JSON([]byte(c.text), Answer), &e)
			require.Equal(t, c.what, e.What)
		})
	}
}

func TestLargeHonestJSONPasses(t *testing.T) {
	t.Parallel()
	song := `{"id":"a1","title":"Say \"yes\\","artists":[{"name":"A"},{"name":"B"}],"genres":["x","y"],` +
		`"lyrics":"` + strings.Repeat("la ", 150) + `","played":null,"ok":true,"year":-1.5e3}`
	text := `{"playlist":{"entry":` + list(song, 15_000) + `}}`
	require.Less(t, len(text), 10<<20)
	require.True(t, json.Valid([]byte(text)))
	size, err := Measure([]byte(text), Answer)
	require.NoError(t, err)
	require.Equal(t, Size{Elements: 15_000 * 5, Fields: 2 + 15_000*10, Depth: 6}, size)
}

func TestCheckAllocatesNothing(t *testing.T) {
	text := []byte(list(`{"a":["b",1,{}]}`, 1_000))
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = JSON(text, Answer) }))
}

// FuzzJSON compares the count with what the standard library finds in the text.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `[[],[{}],{"a":[]}]`, `{"a":{"b":[1,2.5e-3,"x\"]",null,true]}}`, `"a\\"`, `[1 2]`, `]`, `[,]`,
		`{"a":1`,
		`{"\u0022":"\ud800"}`, `[[[[[[[[[]]]]]]]]]`, "\ufeff[1]", `[1]  [2]`, `-`, `{"a":["b"],"a":["c"]}`,
	} {
		f.Add([]byte(seed))
	}
	limits := Limits{Depth: 8, Elements: 50, Fields: 50, String: 500, InAll: 200, Values: 300}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Measure(text, limits)
		if !json.Valid(text) {
			return // only that it ends, and does not panic
		}
		want, most := count(t, text)
		exceeded := want.Depth > limits.Depth || want.Elements > limits.InAll ||
			want.Elements+want.Fields > limits.Values || most.Elements > limits.Elements || most.Fields > limits.Fields
		switch {
		case err == nil:
			require.False(t, exceeded, "%+v %+v", want, most)
			require.Equal(t, want, got)
		case !exceeded: // then it is a string or a number, which are written as long as that
			require.True(t, longRun(text, min(limits.String, maxLiteral)), "%v", err)
		}
	})
}

// count counts with the standard library: all of the text, and the most of one list or object.
func count(t *testing.T, text []byte) (all, most Size) {
	type frame struct{ list, key bool }
	type counter struct {
		frame
		n int
	}
	var open []counter
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	value := func() {
		if len(open) == 0 {
			return
		}
		in := &open[len(open)-1]
		switch {
		case in.list:
			in.n++
			all.Elements++
			most.Elements = max(most.Elements, in.n)
		case !in.key: // a field's name
			in.key = true
			in.n++
			all.Fields++
			most.Fields = max(most.Fields, in.n)
		default:
			in.key = false
		}
	}
	for {
		token, err := dec.Token()
		if err != nil {
			return all, most
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			value()
			open = append(open, counter{frame: frame{list: token == json.Delim('[')}})
			all.Depth = max(all.Depth, len(open))
		case json.Delim(']'), json.Delim('}'):
			open = open[:len(open)-1]
		default:
			value()
		}
		require.LessOrEqual(t, all.Elements+all.Fields, len(text))
	}
}

// longRun reports whether a text is long enough to have a string or a number of n bytes.
func longRun(text []byte, n int) bool { return len(text) > n }

func list(element string, n int) string {
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}

func object(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func BenchmarkJSON(b *testing.B) {
	song := `{"id":"2b","title":"A title of a song","album":"An album","artist":"An artist","duration":215,` +
		`"artists":[{"id":"1","name":"An artist"}],"played":"2026-01-02T03:04:05.000Z","isrc":["GBAYE0601498"]}`
	text := []byte(`{"subsonic-response":{"playlist":{"entry":` + list(song, 10_000) + `}}}`)
	hostile := []byte(list("{}", 20_000))
	b.Run("songs", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := JSON(text, Answer); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("songs, decoded", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var v struct {
				R struct {
					P struct {
						Entry []struct{ ID, Title, Album, Artist, Played string }
					} `json:"playlist"`
				} `json:"subsonic-response"`
			}
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("empty objects", func(b *testing.B) {
		b.SetBytes(int64(len(hostile)))
		for b.Loop() {
			if err := JSON(hostile, Answer); err != nil {
				b.Fatal(err)
			}
		}
	})
}
