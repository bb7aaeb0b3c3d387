package metrics

import "reprise/internal/resilience"

// Catalogue holds the closed sets of label values.
type Catalogue struct {
	Providers      []Provider
	Conditions     []string // of connections
	DeliveryStates []string
	DeliveryKinds  []string
	Channels       []string // kinds of channels for notifications
}

// Provider says what is counted for one provider.
type Provider struct {
	Name      string
	Connects  bool     // people can have connections to it
	Streams   []string // that runs read
	Endpoints []Endpoint
	Pool      bool // it can have a key pool
}

// Endpoint is an endpoint that an adapter calls: method and route template, at a host of the installation's settings.
// An empty host means people's own servers.
type Endpoint struct{ Host, Name string }

// other is the label for everything that is not in the catalogue.
const other = "other"

// place is the target of an attempt.
type place struct{ provider, host, endpoint string }

// names returns the labels of all endpoints. For people's own servers the provider's name replaces the host.
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

// find returns the value for the target of an attempt; false when it is not in the catalogue.
func find[V any](all map[place]V, provider, host, endpoint string) (V, bool) {
	v, ok := all[place{provider, host, endpoint}]
	if !ok {
		v, ok = all[place{provider, "", endpoint}]
	}
	return v, ok
}
