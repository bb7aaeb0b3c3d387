package enrich

import (
	"reprise/internal/providers"
	"reprise/internal/words"
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
		s.SettingUp = words.New("metadata.needs", "Name", p.DisplayName, "Other", needed.DisplayName)
	case len(e.Pictures) > 0 && !keepsPictures:
		s.Missing = []string{"art.max_mib"}
		s.SettingUp = words.New("metadata.no_pictures", "Name", p.DisplayName)
	default:
		s.Enricher = p.Enricher
	}
	return s
}
