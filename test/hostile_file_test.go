package test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// badFile is a file that somebody imports.
type badFile struct {
	provider, name string
	content        func(t *testing.T) io.Reader
}

// text is the content of a file.
func text(parts ...string) func(*testing.T) io.Reader {
	return func(*testing.T) io.Reader {
		readers := make([]io.Reader, len(parts))
		for i, p := range parts {
			readers[i] = strings.NewReader(p)
		}
		return io.MultiReader(readers...)
	}
}

// archive returns a ZIP archive of so many files with that content.
func archive(t *testing.T, files int, name string, content func(w io.Writer) error) io.Reader {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range files {
		w, err := z.Create(fmt.Sprintf(name, i))
		require.NoError(t, err)
		require.NoError(t, content(w))
	}
	require.NoError(t, z.Close())
	return &out
}

// spaces writes so many MiB of them.
func blanks(mib int) func(io.Writer) error {
	return func(w io.Writer) error {
		page := bytes.Repeat([]byte(" "), 1<<20)
		for range mib {
			if _, err := w.Write(page); err != nil {
				return err
			}
		}
		return nil
	}
}

// badFiles are what a person who wants to stop the server imports.
func badFiles() []badFile {
	const row = `{"ts":"2024-03-05T18:04:30Z","ms_played":1,"master_metadata_track_name":"`
	return []badFile{
		{"lastfm", "commas.csv", text("Artist,Album,Title,Date\n", strings.Repeat(",", 8_000_000), "\n")},
		{"lastfm", "quote.csv", text("Artist,Album,Title,Date\n\"", strings.Repeat("a", 20<<20))},
		{"lastfm", "empty-tracks.json", text(`{"track":[`, strings.Repeat("{},", 2_700_000), "{}]}")},
		{"lastfm", "deep.json", text(`{"track":[`, strings.Repeat(`{"a":[`, 3_000_000))},
		{"listenbrainz", "line.jsonl", text(`{"listened_at":1,"track_metadata":{"track_name":"`,
			strings.Repeat("x", 30<<20), `"}}`)},
		{"listenbrainz", "empty.jsonl", text(strings.Repeat("{}\n", 3_000_000))},
		{"spotify", "title.json", text("["+row, strings.Repeat("y", 30<<20), `"}]`)},
		{"spotify", "wide.json", text("\xff\xfe", strings.Repeat("[\x00", 8<<20))},
		{"spotify", "bomb.zip", func(t *testing.T) io.Reader {
			return archive(t, 1, "Streaming_History_Audio_%d.json", blanks(1<<10))
		}},
		{"spotify", "many.zip", func(t *testing.T) io.Reader {
			return archive(t, 60_000, "Streaming_History_Audio_%d.json", func(w io.Writer) error {
				_, err := io.WriteString(w, "[]")
				return err
			})
		}},
		{"lastfm", "null.csv", text(strings.Repeat("\x00", 16<<20))},
	}
}
