package ui

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The sprite has the icons that pages use and no other, and marks of nothing but services and kinds of channels.
func TestTheSpriteHasWhatPagesUse(t *testing.T) {
	t.Parallel()
	used, services := map[string]bool{}, map[string]bool{}
	icon := regexp.MustCompile(`\bIcon\("([a-z0-9-]+)"\)`)
	kind := regexp.MustCompile(`= Kind{\s+Name:\s+"([a-z0-9]+)"`)
	for _, top := range []string{"internal", "web"} {
		root := os.DirFS("../..")
		require.NoError(t, fs.WalkDir(root, top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".templ") && !strings.HasSuffix(path, ".go") ||
				strings.HasSuffix(path, "gallery.go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := fs.ReadFile(root, path)
			for _, m := range icon.FindAllSubmatch(b, -1) {
				used[string(m[1])] = true
			}
			if rest, ok := strings.CutPrefix(path, "internal/providers/"); ok {
				name, _, _ := strings.Cut(rest, "/")
				services[name] = true
			}
			for _, m := range kind.FindAllSubmatch(b, -1) {
				services[string(m[1])] = strings.HasPrefix(path, "internal/channels/")
			}
			return err
		}))
	}
	b, err := os.ReadFile("../static/vendored/sprite.svg")
	require.NoError(t, err)
	drawings := map[string]bool{}
	for _, m := range regexp.MustCompile(`<symbol id="(icon|mark)-([a-z0-9-]+)"`).FindAllStringSubmatch(string(b), -1) {
		if m[1] == "icon" {
			drawings[m[2]] = true
		} else {
			require.True(t, services[m[2]], "nothing is called %s", m[2])
		}
	}
	require.NotEmpty(t, used)
	require.Equal(t, slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(drawings)))
}
