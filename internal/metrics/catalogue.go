package metrics

import "reprise/internal/resilience"

// Catalogue holds the closed sets that labels come from.
type Catalogue struct {
	Providers      []Provider
	Conditions     []string // of connections
	DeliveryStates []string
	DeliveryKinds  []string
	Channels       []string // by which notifications reach people
}

// Provider is what there is to count of one provider.
type Provider struct {
	Name      string
	Connects  bool     // people have connections there
	Streams   []string // that runs read
	Endpoints []Endpoint
	Pool      bool // the installation may have keys of it
}

// Endpoint is one that an adapter calls: method and route template, at a host of the installation's settings. An empty
// host stands for people's own servers.
type Endpoint struct{ Host, Name string }

// other is the label of what is not in the catalogue.
const other = "other"

// place is where an attempt went.
type place struct{ provider, host, endpoint string }

// names are the labels of all endpoints. At people's own servers the provider's name stands in the host's place.
func (c Catalogue) names() map[place]string {
	all := map[place]string{}
	for _, p := range c.Providers {
		for _, e := range p.Endpoints {
			host := e.Host
			if host == "" {
				host = p.Name
			}
			all[place{p.Name, e.Host, e.Name}] = resilience.EndpointName(host, e.Name)
		}
	}
	return all
}

// find returns the place of the catalogue that an attempt belongs to; false when there is none.
func find[V any](all map[place]V, provider, host, endpoint string) (V, bool) {
	v, ok := all[place{provider, host, endpoint}]
	if !ok {
		v, ok = all[place{provider, "", endpoint}]
	}
	return v, ok
}
