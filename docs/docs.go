// Package docs holds the documents of this directory, which the program shows at /help.
package docs

import "embed"

// Files are the documents, in Markdown.
//
//go:embed *.md
var Files embed.FS
