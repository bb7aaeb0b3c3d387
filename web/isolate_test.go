package web

import (
	"html/template"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsolationOfValues(t *testing.T) {
	t.Parallel()
	text := "שלום"
	for _, c := range []struct{ in, text, plain any }{
		{"Sigur Rós", "Sigur Rós", "Sigur Rós"},
		{"<b>", "<b>", "<b>"},
		{"שלום", template.HTML("<bdi>שלום</bdi>"), "\u2068שלום\u2069"},
		{&text, template.HTML("<bdi>שלום</bdi>"), "\u2068שלום\u2069"},
		{"<שלום>", template.HTML("<bdi>&lt;שלום&gt;</bdi>"), "\u2068<שלום>\u2069"},
		{"a\u202eb", template.HTML("<bdi>ab</bdi>"), "\u2068ab\u2069"},
		{template.HTML("<p>a\u202eb שלום</p>"), template.HTML(`<bdi dir="ltr"><p>ab שלום</p></bdi>`),
			"\u2068<p>ab שלום</p>\u2069"},
		{7, 7, 7},
		{nil, nil, nil},
		{(*string)(nil), (*string)(nil), (*string)(nil)},
	} {
		require.Equal(t, c.text, isolated(c.in), c.in)
		require.Equal(t, c.plain, isolatedPlain(c.in), c.in)
	}
	clean, _ := readable("Z" + strings.Repeat("\u0301", 50) + "a" + strings.Repeat("\u0302", 6))
	require.Equal(t, "Z"+strings.Repeat("\u0301", 6)+"a"+strings.Repeat("\u0302", 6), clean)
	require.Equal(t, reflect.String, reflect.TypeOf(isolatedPlain("שלום")).Kind())
}
