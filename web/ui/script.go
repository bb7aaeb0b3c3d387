package ui

import (
	"context"
	"strings"

	"reprise/internal/words"
)

// scripted are the sentences that scripts say.
var scripted = []string{
	"script.first", "script.just_now", "script.now", "script.time", "script.in", "script.in_hours", "script.of",
	"script.dismiss", "script.unlinked", "script.crowded", "script.offline", "script.stored", "script.copied",
	"script.close",
	"script.keys", "script.key_search", "script.key_filter", "script.key_love",
	"script.key_health", "script.key_notifications",
	"script.password_one_more",
	"script.password_more", "script.password_words", "script.password_long", "script.password_enough",
	"script.password_own",
	"script.push_offer", "script.push_already", "script.push_insecure", "script.push_unable", "script.push_denied",
	"script.push_refused", "script.push_unreachable", "script.push_name",
}

// open are arguments that a script fills in: each is its own name in braces.
var open = []any{"Time", "{Time}", "Done", "{Done}", "Total", "{Total}", "Most", "{Most}", "Number", "{Number}"}

// scriptWords returns the sentences of scripts by their ids without the area.
func scriptWords(ctx context.Context) map[string]string {
	all := make(map[string]string, len(scripted))
	for _, id := range scripted {
		all[strings.TrimPrefix(id, "script.")] = words.T(ctx, id, open...)
	}
	return all
}
