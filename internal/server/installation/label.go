package installation

import (
	"context"
	"strings"

	"reprise/internal/settings"
	"reprise/internal/words"
)

// own are the settings of providers that have words of their own; the others share those of their name.
var own = map[string]bool{"lastfm_client_id": true, "lastfm_client_secret": true, "youtube_keys": true,
	"fanarttv_keys": true, "openai_keys": true, "openai_api_url": true, "listenbrainz_api_url": true,
	"musicbrainz_api_url": true}

// Label returns what people call a setting.
func Label(ctx context.Context, i settings.Item) string {
	name := nameOf(i)
	switch {
	case i.Provider == "":
		return words.Each("setting.label.", i.Path).T(ctx)
	case own[i.Provider+"_"+name]:
		return words.Each("setting.label.own.", i.Provider+"_"+name).T(ctx)
	}
	return words.Each("setting.label.service.", name).T(ctx)
}

// Help returns what a setting does, and its default.
func Help(ctx context.Context, i settings.Item) string {
	name := nameOf(i)
	var help words.Text
	switch {
	case i.Provider == "":
		help = words.Each("setting.help.", i.Path)
	case own[i.Provider+"_"+name]:
		help = words.Each("setting.help.own.", i.Provider+"_"+name)
	default:
		help = words.Each("setting.help.service.", name)
	}
	if i.Default != "" {
		help = words.Join(help, words.New("setting.page.default", "Value", shown(ctx, i, i.Default)))
	}
	return help.T(ctx)
}

// nameOf returns the last part of a setting's path.
func nameOf(i settings.Item) string { return i.Path[strings.LastIndex(i.Path, ".")+1:] }
