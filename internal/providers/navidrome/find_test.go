package navidrome_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience/hosts"
	"reprise/internal/supysonictest"
)

var update = flag.Bool("update", false, "rewrite the table in docs/matching.md")

// outcome is what became of a wish.
type outcome struct {
	what    string
	offered []library.Track // to choose from
}

// lookFor looks for a wish as deliveries do. It fails the test if a song is taken that is not the right one, or if the
// right one is there and not among the songs that are offered.
func lookFor(t *testing.T, w providers.PlaylistWriter, wish wish) outcome {
	t.Helper()
	want := trackOf(wish.song)
	hits, err := w.Find(t.Context(), want)
	require.NoError(t, err, wish.song)
	require.LessOrEqual(t, len(hits), 30)
	if got, ok := match.Sure(want, hits); ok {
		require.True(t, wish.rightOf(got), "WRONG: %s was taken for %s", text(got), wish.song)
		return outcome{what: found}
	}
	offered := match.Possible(want, hits)
	if len(offered) == 0 {
		return outcome{what: absent}
	}
	if wish.shelvedIn() {
		require.True(t, slices.ContainsFunc(offered, wish.rightOf), "%s is not offered", wish.song)
	}
	return outcome{what: asked, offered: offered}
}

func text(t library.Track) string { return t.Title + "|" + t.Artist + "|" + t.Album }

// TestAwkwardSongs looks for sixty awkward songs on each kind of server, and holds the table in docs/matching.md.
func TestAwkwardSongs(t *testing.T) {
	t.Parallel()
	require.Len(t, wishes, 60)
	var mu sync.Mutex
	offers := map[string]map[string][]library.Track{} // by server and song
	t.Cleanup(func() { holdTable(t, offers["navidrome"]) })
	for name, s := range simulated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := hosts.NewBase(nil)
			t.Cleanup(base.CloseIdleConnections)
			w := providertest.New(navidrome.Describe()).Open(providertest.Call(base),
				library.Credentials{"url": s.serve(t), "username": "anna", "password": "x", "auth": "token",
					"form": "yes"}).(providers.PlaylistWriter)
			offered := lookForAll(t, name, w, &s.asked)
			mu.Lock()
			defer mu.Unlock()
			offers[name] = offered
		})
	}
}

// lookForAll looks for all wishes and compares what becomes of them with the table.
func lookForAll(t *testing.T, server string, w providers.PlaylistWriter,
	calls *[]string) (offered map[string][]library.Track) {
	t.Helper()
	offered = map[string][]library.Track{}
	counts, most, total := map[string]int{}, 0, 0
	var got, want []string
	for _, wish := range wishes {
		before := 0
		if calls != nil {
			before = len(*calls)
		}
		o := lookFor(t, w, wish)
		counts[o.what]++
		offered[wish.song] = o.offered
		got = append(got, fmt.Sprintf("%s: %s", wish.song, o.what))
		want = append(want, fmt.Sprintf("%s: %s", wish.song, wish.at(server)))
		if calls != nil {
			n := len(*calls) - before
			most, total = max(most, n), total+n
			require.LessOrEqual(t, n, 8, "%s: %s", wish.song, strings.Join((*calls)[before:], ", "))
		}
	}
	t.Logf("%s: %d found, %d asked, %d not there; %d calls, at most %d for a song", server, counts[found],
		counts[asked], counts[absent], total, most)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
	return offered
}

// holdTable compares the table in docs/matching.md with what became of the wishes.
func holdTable(t *testing.T, offers map[string][]library.Track) {
	const page, from, to = "../../../docs/matching.md", "-update -->\n", "<!-- end of songs -->"
	var b strings.Builder
	servers := []string{"navidrome", "gonic", "supysonic"}
	b.WriteString("| what is awkward | song | Navidrome | gonic | supysonic | what a person can choose |\n" +
		"| --- | --- | --- | --- | --- | --- |\n")
	counts := map[string]map[string]int{"navidrome": {}, "gonic": {}, "supysonic": {}}
	for _, w := range wishes {
		song := trackOf(w.song)
		fmt.Fprintf(&b, "| %s | %s – %s", w.why, song.Artist, song.Title)
		if song.Album != "" {
			fmt.Fprintf(&b, ", %s", song.Album)
		}
		if song.Duration > 0 {
			fmt.Fprintf(&b, ", %d:%02d", int(song.Duration.Minutes()), int(song.Duration.Seconds())%60)
		}
		for _, s := range servers {
			fmt.Fprintf(&b, " | %s", w.at(s))
			counts[s][w.at(s)]++
		}
		var choices []string
		for _, o := range offers[w.song] {
			choices = append(choices, fmt.Sprintf("%s – %s (%s, %d:%02d)", o.Artist, o.Title, o.Album,
				int(o.Duration.Minutes()), int(o.Duration.Seconds())%60))
		}
		fmt.Fprintf(&b, " | %s |\n", strings.Join(choices, "; "))
	}
	for _, what := range []string{found, asked, absent} {
		fmt.Fprintf(&b, "| | **%s**", what)
		for _, s := range servers {
			fmt.Fprintf(&b, " | **%d**", counts[s][what])
		}
		b.WriteString(" | |\n")
	}
	b.WriteString("| | **wrong** | **0** | **0** | **0** | |\n")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), from)
	_, after, ok2 := strings.Cut(rest, to)
	require.True(t, ok && ok2, "the marks in %s", page)
	want := before + from + b.String() + to + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "go test ./internal/providers/navidrome -run AwkwardSongs -update")
}

// TestAwkwardSongsOnARealServer does the same on Debian's supysonic, which compares the whole text with the title.
func TestAwkwardSongsOnARealServer(t *testing.T) {
	t.Parallel()
	songs := make([]supysonictest.Song, len(shelved))
	for i, s := range shelved {
		songs[i] = supysonictest.Song{Title: s.Title, Artist: s.Artist, Album: s.Album, Length: s.Duration}
	}
	server := supysonictest.StartWith(t, songs)
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	w := providertest.New(navidrome.Describe()).Open(providertest.Call(base),
		library.Credentials{"url": server.URL, "username": server.Username, "password": server.Password,
			"auth": "password", "form": "yes"}).(providers.PlaylistWriter)
	lookForAll(t, "supysonic", w, nil)
}
