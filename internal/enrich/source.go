package enrich

import (
	"reprise/internal/library"
	"reprise/internal/providers"
)

// newSource returns the source of a provider's facts. It is set up unless something is missing that it needs:
// settings of its own, the source that finds the ids, or a place for pictures.
func newSource(p *providers.Provider, services *providers.Registry, keepsPictures bool) Source {
	e := p.Enriches
	s := Source{Provider: p, Kinds: e.Kinds, Needs: e.Needs, NotThere: e.NotThere}
	needed := services.Get(e.Needs)
	switch {
	case len(p.Missing) > 0:
		s.Missing, s.SettingUp = p.Missing, e.SettingUp
	case needed != nil && len(needed.Missing) > 0:
		s.Missing = needed.Missing
		s.SettingUp = library.InSentence(p.DisplayName+" goes by the ids that "+needed.DisplayName+" gives, and that "+
			"is not set up yet.", needed.DisplayName)
	case len(e.Pictures) > 0 && !keepsPictures:
		s.Missing = []string{"art.max_mib"}
		s.SettingUp = "The settings say that no pictures are kept, and " + p.DisplayName + " has nothing else."
	default:
		s.Enricher = p.Enricher
	}
	return s
}
