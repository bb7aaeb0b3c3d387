package providertest

import (
	"slices"

	"reprise/internal/providers"
)

// New returns the provider with these settings, which are names and values in turn, and the defaults of the others.
func New(d providers.Description, settings ...string) *providers.Provider {
	return NewIn(providers.Installation{}, d, settings...)
}

// NewIn is New in an installation. A value that the setting's kind refuses is taken as it is, to show what the adapter
// does with it.
func NewIn(in providers.Installation, d providers.Description, settings ...string) *providers.Provider {
	all, err := d.Read(nil)
	if err != nil {
		panic(err)
	}
	for pair := range slices.Chunk(settings, 2) {
		i := slices.IndexFunc(d.Settings, func(s providers.Setting) bool { return s.Name == pair[0] })
		if i < 0 {
			panic("there is no setting " + d.Path(pair[0]))
		}
		v, err := d.Settings[i].Parse(pair[1])
		if err != nil {
			v = providers.Value{Text: pair[1]}
		}
		all[pair[0]] = v
	}
	p, err := d.New(all, in)
	if err != nil {
		panic(err)
	}
	return p
}
