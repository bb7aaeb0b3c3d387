package installation

import (
	"context"
	"regexp"

	"reprise/internal/config"
	"reprise/internal/settings"
	"reprise/internal/words"
)

// Label returns what people call a setting.
func Label(ctx context.Context, i settings.Item) string { return i.Label().T(ctx) }

// Help returns what a setting does, and its default where it has another value.
func Help(ctx context.Context, i settings.Item) string {
	help := i.Setting.Help()
	if i.Kind == config.Duration {
		help = words.Join(help, words.New("setting.page.duration"))
	}
	if i.Default != "" && i.Value != i.Default {
		help = words.Join(help, words.New("setting.page.default", "Value", shown(ctx, i, i.Default)))
	}
	return help.T(ctx)
}

// pathLike is what looks like the path of a setting in a sentence.
var pathLike = regexp.MustCompile(`[a-z0-9_]+(\.[a-z0-9_]+)+`)

// named returns a sentence about settings with what the page calls them in place of their paths, which files and
// programs know them by.
func named(ctx context.Context, all []settings.Item, sentence string) string {
	return pathLike.ReplaceAllStringFunc(sentence, func(text string) string {
		for _, i := range all {
			if i.Path == text && !i.Restart() {
				return Label(ctx, i)
			}
		}
		return text
	})
}
