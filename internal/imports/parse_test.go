package imports

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rows reads a text as an export, and returns a line for each row.
func rows(t *testing.T, provider, text string) ([]string, error) {
	t.Helper()
	return rowsOf(t, provider, strings.NewReader(text), int64(len(text)))
}

func rowsOf(t *testing.T, provider string, text io.Reader, size int64) ([]string, error) {
	t.Helper()
	var all []string
	err := formats[provider].read(newMeter(text, size), Answers{}, func(v row) bool {
		l := v.listen
		switch {
		case !v.bad.IsZero():
			all = append(all, "bad: "+v.bad.String())
		case v.skip:
			all = append(all, "skipped")
		default:
			at := l.PlayedAt.Format(time.RFC3339)
			names := l.Artist + " – " + l.Title + " – " + l.Album
			line := fmt.Sprintf("%s | %s | %s | %s", at, names, l.Duration, l.SourceID)
			if l.Player != "" {
				line += " | " + l.Player
			}
			all = append(all, line)
		}
		return true
	})
	return all, err
}

// Each file in testdata/exports is an export of the provider that its name begins with. Its rows are in a golden file.
func TestEveryFormatIsRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/exports/*.golden")
	require.NoError(t, err)
	read := map[string]bool{}
	for _, golden := range files {
		file := strings.TrimSuffix(golden, ".golden")
		provider, _, _ := strings.Cut(filepath.Base(file), "-")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		got, err := rows(t, provider, string(text))
		require.NoError(t, err, file)
		require.Equal(t, string(want), strings.Join(got, "\n")+"\n", file)
		read[provider] = true
	}
	for provider := range formats {
		require.True(t, read[provider], "no export of %s", provider)
	}
}

func TestAnotherKindOfFileIsRecognised(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ provider, text string }{
		{"spotify", `{"listened_at":1}`}, {"spotify", "Artist,Track"}, {"spotify", ""}, {"spotify", `"text"`},
		{"lastfm", "%PDF-1.7 and so on\n"}, {"lastfm", ""}, {"lastfm", `{"track": 7}`},
		{"listenbrainz", "Artist,Track"}, {"listenbrainz", ""},
	} {
		got, err := rows(t, c.provider, c.text)
		require.ErrorIs(t, err, errKind, c)
		require.Empty(t, got)
	}
}

func TestAnIncompleteFileKeepsItsCompleteRows(t *testing.T) {
	t.Parallel()
	const whole = `{"ts":"2024-03-05T18:04:30Z","ms_played":270000,` +
		`"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"}`
	got, err := rows(t, "spotify", "["+whole+","+whole[:50])
	require.Len(t, got, 1)
	require.Equal(t, "it ends in the middle of a row", inWords(err).String())
	got, err = rows(t, "spotify", "["+whole+",]")
	require.Len(t, got, 1)
	require.Contains(t, inWords(err).String(), "it isn't JSON from byte")
}

func TestAnEndlessRowIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat("x", 2*maxPassed)
	for provider, text := range map[string]string{
		"spotify":      `[{"ts":"` + endless,
		"listenbrainz": `{"listened_at":"` + endless,
		"lastfm":       `A,B,"` + endless,
	} {
		_, err := rows(t, provider, text)
		require.Equal(t, "the next row is too long", inWords(err).String(), provider)
	}
}

func TestSpotifyNamesItsPlatform(t *testing.T) {
	t.Parallel()
	for platform, want := range map[string]string{"iOS 14.4 (iPhone12,1)": "Spotify (iOS)", "ios": "Spotify (iOS)",
		"Windows 10 (10.0.19041; x64)":              "Spotify (Windows)",
		"web_player windows 10;chrome 98.0;desktop": "Spotify (web)", "not_applicable": "", "": "", "(none)": "",
		"Linux [x86-64 0]":                    "Spotify (Linux)",
		"Partner google cast_tv;Chromecast;;": "Spotify (Partner google cast_tv)"} {
		require.Equal(t, want, spotifyPlayer(platform), platform)
	}
}
