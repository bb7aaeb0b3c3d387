package installation

import (
	"context"

	"reprise/internal/config"
	"reprise/internal/settings"
	"reprise/internal/words"
)

// Label returns what people call a setting.
func Label(ctx context.Context, i settings.Item) string { return i.Label().T(ctx) }

// Help returns what a setting does, and its default.
func Help(ctx context.Context, i settings.Item) string {
	help := i.Setting.Help()
	if i.Kind == config.Duration {
		help = words.Join(help, words.New("setting.page.duration"))
	}
	if i.Default != "" {
		help = words.Join(help, words.New("setting.page.default", "Value", shown(ctx, i, i.Default)))
	}
	return help.T(ctx)
}
