package music

import (
	"reprise/internal/library"
)

// Learns reports whether l has facts about the play that are not known yet.
func (p *Play) Learns(l *library.Listen) bool {
	return !p.Fixed && (!p.ISRC && l.ISRC != "" || !p.MBID && l.RecordingMBID != "" || p.Length == 0 && l.Duration > 0)
}
