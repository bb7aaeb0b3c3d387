package providers

import (
	"context"

	"reprise/internal/library"
)

// Enricher is a source of facts about music. It is safe for concurrent use.
type Enricher interface {
	// Enrich looks an entity up. [ErrNotThere] says that the source has definitely nothing about it.
	Enrich(context.Context, library.Entity) (library.Facts, error)
}
