package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const livePage = `<body data-live="yes"><a id="bell" data-part href="/x">2<br></a><p id="alone">no part</p>
<main><ul id="listens" data-part><li id="a">Rain<img src="/art/1"></li><li id="b">Snow</li></ul></main></body>`

func TestAPageKnowsTheVersionsOfItsParts(t *testing.T) {
	t.Parallel()
	stamped := string(Stamp([]byte(livePage)))
	require.Regexp(t, `data-live="yes" data-parts="bell:[\w-]{12},listens:[\w-]{12}">`, stamped)
	require.Equal(t, stamped, string(Stamp([]byte(livePage))))
	require.Equal(t, "<p>x", string(Stamp([]byte("<p>x"))), "nobody is signed in")
}

// A browser gets the element that has changed, and not what is around it.
func TestOnlyWhatChangedIsSent(t *testing.T) {
	t.Parallel()
	known := Known{}
	before := PartsOf([]byte(livePage))
	require.Len(t, before, 2)
	require.Len(t, known.Changes(before), 2)
	require.Empty(t, known.Changes(before), "it has all of it now")

	row := PartsOf([]byte(strings.Replace(livePage, "Snow", "Hail", 1)))
	require.Equal(t, []Changed{{ID: "b", HTML: `<li id="b">Hail</li>`}}, known.Changes(row))

	more := PartsOf([]byte(strings.Replace(livePage, `<li id="a">`, `<li id="c">Fog</li><li id="a">`, 1)))
	require.Equal(t, []Changed{{ID: "listens", HTML: `<ul id="listens" data-part><li id="c">Fog</li>` +
		`<li id="a" data-keep></li><li id="b">Snow</li></ul>`}}, known.Changes(more))
	require.Empty(t, known.Changes(more))

	gone := PartsOf([]byte(strings.Replace(livePage, `<li id="b">Snow</li>`, "", 1)))
	require.Equal(t, []Changed{{ID: "listens", HTML: `<ul id="listens" data-part><li id="a" data-keep></li></ul>`}},
		known.Changes(gone))
}

// HTML that leaves ends out, as browsers allow, still gives the parts that are whole.
func TestPartsOfCarelessHTML(t *testing.T) {
	t.Parallel()
	parts := PartsOf([]byte(`<div id="x" data-part><p>one<p>two<input id="in"><svg><path id="p" d="M0"/></svg></div></b>
<div id="open" data-part>`))
	require.Len(t, parts, 1)
	require.Equal(t, "x", parts[0].ID)
	require.Empty(t, PartsOf(nil))
}

func FuzzParts(f *testing.F) {
	f.Add([]byte(livePage))
	f.Add([]byte(`<div id=a data-part><div id=a></div></span></div>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		known := Known{}
		parts := PartsOf(page)
		known.Changes(parts)
		for _, p := range parts {
			require.NotEmpty(t, p.ID)
			require.LessOrEqual(t, len(p.HTML), len(page))
		}
	})
}
