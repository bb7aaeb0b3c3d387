package providers

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// Enricher is a source of facts about music. It is safe for concurrent use.
type Enricher interface {
	// Enrich looks up an entity. It returns [library.ErrNotThere] when the source has nothing about it.
	Enrich(context.Context, resilience.Call, library.Entity) (library.Facts, error)
}
