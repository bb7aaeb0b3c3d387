package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

// A name that would turn what is around it.
const hostile = "\u2069\u202eאבג"

func TestPartsOfPagesIsolateForeignNames(t *testing.T) {
	t.Parallel()
	named := Named{Text: hostile, URL: "/x"}
	for name, c := range map[string]templ.Component{
		"list": List("l", []Item{{Title: named, By: []Named{named, {Text: hostile}}, Note: hostile, About: "about",
			Tags: []string{hostile}, Picture: &Picture{URL: "/p", Alt: hostile}, At: time.Unix(0, 0)}}),
		"table": Table(Grid{Columns: []string{hostile, hostile},
			Rows: []Line{{Cells: []templ.Component{Name(hostile), Name(hostile)}, Note: hostile}}}),
		"head": Head(Heading{Title: hostile, Sub: hostile, Lead: hostile, Back: "/", BackTo: hostile}),
		"rest": templ.Join(Section(Part{Title: hostile, Lead: hostile}), Fold("f", hostile, true),
			Drawn(Drawer{ID: "d", Title: hostile, Note: hostile}),
			Facts([]Fact{{Label: hostile, Value: Name(hostile), Note: hostile}}), Chips([]Chip{{Label: hostile}}),
			Figures([]Figure{{Label: hostile}}), Pager(Pages{All: &Link{Label: hostile}}),
			Progress(Bar{Label: hostile}), Strip(hostile, []Slot{{Outcome: "full", Words: hostile}})),
	} {
		got := html(t, words.English, c)
		require.NotContains(t, got, "\u202e", name)
		bare := strings.ReplaceAll(strings.ReplaceAll(got, "<bdi>אבג</bdi>", ""), "\u2068אבג\u2069", "")
		require.NotContains(t, bare, "אבג", name)
	}
}

func TestPagerShowsOnlyWhatLeadsSomewhere(t *testing.T) {
	t.Parallel()
	require.Empty(t, html(t, words.English, Pager(Pages{Page: 1, Pages: 1})))
	got := html(t, words.German, Pager(Pages{Page: 2, Pages: 2, Before: "/l?page=1"}))
	require.Contains(t, got, "Seite 2 von 2")
	require.Contains(t, got, `href="/l?page=1" rel="prev"`)
	require.NotContains(t, got, `rel="next"`)
}

func TestPicturesHaveAFixedSize(t *testing.T) {
	t.Parallel()
	for _, p := range []Picture{{}, {URL: "/art/a"}} {
		require.Contains(t, html(t, words.English, Cover(p)), `width="48" height="48"`)
		p.Size = 192
		require.Contains(t, html(t, words.English, Cover(p)), `width="192" height="192"`)
	}
	require.Contains(t, html(t, words.English, Cover(Picture{URL: "/art/a"})), `loading="lazy"`)
	require.NotContains(t, html(t, words.English, Cover(Picture{URL: "/art/a", Soon: true})), "lazy")
}

func TestProgressSpeaksTheReadersLanguage(t *testing.T) {
	t.Parallel()
	got := html(t, words.German, Progress(Bar{ID: "p", Key: "spotify/listens", Label: "x", Done: 1200, Total: 4000}))
	require.Contains(t, got, "1.200 von 4.000")
	require.Contains(t, got, `value="1200" max="4000"`)
	require.NotContains(t, html(t, words.English, Progress(Bar{Done: 3})), "value=")
}

func TestServicesHaveAMarkOrALetter(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"spotify", "lastfm", "listenbrainz", "navidrome", "youtube", "s3"} {
		require.Contains(t, html(t, words.English, Brand(provider)), ".svg#mark-"+provider+`"`)
	}
	for kind, icon := range map[string]string{"email": "mail", "webhook": "webhook"} {
		require.Contains(t, html(t, words.English, Brand(kind)), ".svg#icon-"+icon+`"`)
	}
	require.Contains(t, html(t, words.English, Brand("nobody")), ">N</span>")
}
