package ui

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

// elsewhere are the components that are a page themselves, or a part of one that is shown: a list's row, a chart's
// script.
var elsewhere = map[string]bool{"Page": true, "Gallery": true, "Row": true, "Module": true}

// A new component has to be shown in the gallery, where axe looks at it.
func TestTheGalleryHasEveryComponent(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, s := range specimens(nil) {
		shown[s.name] = true
	}
	paths, err := filepath.Glob("*.templ")
	require.NoError(t, err)
	found := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^templ ([A-Z]\w*)\(`).FindAllStringSubmatch(string(b), -1) {
			found++
			require.True(t, shown[m[1]] || elsewhere[m[1]], "%s of %s is not in the gallery", m[1], path)
		}
	}
	require.Greater(t, found, 20)
	page := html(t, words.English, Gallery([]string{"another"}))
	for _, s := range specimens(nil) {
		require.True(t, strings.Contains(page, "<h2>"+s.name+"</h2>"), s.name)
	}
}
