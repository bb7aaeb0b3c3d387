package comparing

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/listening"
)

func TestALinkIsReadAsItWasMade(t *testing.T) {
	t.Parallel()
	code, key := strings.Repeat("A2", 13), strings.Repeat("B3", 13)
	for text, base := range map[string]string{
		"https://Music.Example.org/compare/" + code + "#" + key:     "https://music.example.org",
		" http://nas:8420/re/prise/compare/" + code + "/#" + key:    "http://nas:8420/re/prise",
		"https://example.org/compare/compare/" + code + "#" + key:   "https://example.org/compare",
		"music.example.org/compare/" + code + "#" + key + "\n":      "https://music.example.org",
		"https://music.example.org:443/compare/" + code + "#" + key: "https://music.example.org",
	} {
		l, err := ParseLink(text)
		require.NoError(t, err, text)
		require.Equal(t, base+"/compare/"+code+"#"+key, l.String())
	}
	for _, text := range []string{"", "https://music.example.org", "https://music.example.org/compare/" + code,
		"https://music.example.org/compare/../admin#" + key, "https://music.example.org/compare/" + code + "#short",
		"https://music.example.org/compare/" + code + "?x=1#" + key, "/compare/" + code + "#" + key,
		"file:///compare/" + code + "#" + key} {
		_, err := ParseLink(text)
		require.Error(t, err, text)
	}
}

// The same artist has other ids and spellings on another server. What a stranger says can't break a page.
func TestADocumentIsReadBySomebodyElse(t *testing.T) {
	t.Parallel()
	may := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	mine := listening.Summary{Began: may, Listens: 6, Artists: []listening.Heard{{ID: 1, Listens: 3, First: may},
		{ID: 2, Listens: 2, First: may}, {ID: 3, Listens: 1, First: may}}}
	names := map[uint32]library.Entity{1: {Kind: library.KindArtist, Artist: "Björk", MBID: "b"},
		2: {Kind: library.KindArtist, Artist: "Nirvana", MBID: "us"}, 3: {Kind: library.KindArtist, Artist: "Air"}}
	d, err := read([]byte(`{"format":1,"name":" Zoe\u202e ","listens":-0,"began":"soon","artists":[
		{"name":"Bjoerk","mbid":"b","listens":5,"first":"2024-05"},
		{"name":"NIRVANA","mbid":"uk","listens":4,"first":"2024-05"},
		{"name":"air","mbid":"a","listens":3,"first":"2024-05"},
		{"name":"Air","listens":2,"first":"2024-05"},
		{"name":"Bad","listens":-2,"first":"2024-05"},
		{"name":"Bad","listens":9223372036854775807,"first":"2024-05"},
		{"name":"Bad","listens":2,"first":"May"}]}`))
	require.NoError(t, err)
	s := d.Summary(mine, names)
	require.True(t, s.Began.IsZero())
	require.Equal(t, 14, s.Listens, "at least what is said of the artists")
	var ids []uint32
	for _, a := range s.Artists {
		ids = append(ids, a.ID)
	}
	require.Equal(t, []uint32{1, ^uint32(0), 3, ^uint32(0) - 1}, ids, "another Nirvana, and no artist twice")
	require.Equal(t, "NIRVANA", names[^uint32(0)].Artist)
	require.NotPanics(t, func() { listening.CompareSummaries(mine, s, 10).Theirs.Percent() })

	for body, want := range map[string]error{`{}`: Old, `[]`: Old, `{"format":1}`: Old,
		`{"format":2,"name":"A"}`: Newer, `{"format":1,"name":"A","listens":-1}`: Old} {
		_, err := read([]byte(body))
		require.Equal(t, want, err, body)
	}
}

// Somebody who heard very many artists shows those that they heard most.
func TestADocumentIsBounded(t *testing.T) {
	t.Parallel()
	s, names := listening.Summary{}, map[uint32]library.Entity{}
	for id := range uint32(50_000) {
		s.Artists = append(s.Artists, listening.Heard{ID: id + 1, Listens: 60_000 - int(id)})
		s.Listens += 60_000 - int(id)
		names[id+1] = library.Entity{Artist: strings.Repeat("\"<é", 10), MBID: "b8d3a1e0-2b1c-4e8e-9c55-5f4a6ad52fd1"}
	}
	d := New("Zoe", time.Time{}, s, names)
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.Less(t, len(text), 1<<20)
	require.Greater(t, len(d.Artists), 4_000)
	require.Equal(t, s.Listens, d.Listens)
	require.Equal(t, 60_000, d.Artists[0].Listens)
}
