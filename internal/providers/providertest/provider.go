package providertest

import (
	"slices"

	"reprise/internal/providers"
)

// New returns the provider with these settings, given as alternating names and values, and defaults for the others.
func New(d providers.Description, settings ...string) *providers.Provider {
	return NewIn(providers.Installation{}, d, settings...)
}

// NewIn is New with an installation. It accepts invalid values, to test how the adapter handles them.
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
