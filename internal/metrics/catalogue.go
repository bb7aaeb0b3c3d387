package metrics

import (
	"maps"
	"slices"
	"sync"

	"reprise/internal/resilience/transport"
)

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

// endpoints holds what is known of each endpoint in the catalogue. A provider whose settings are replaced gets more of
// them; the old ones stay, because a run under way still calls them. Safe for concurrent use.
type endpoints[V any] struct {
	mu  sync.RWMutex
	all map[place]V
}

// add adds the endpoints of a provider that are new, each with the value that begin returns for its label. For people's
// own servers the provider's name replaces the host in the label.
func (es *endpoints[V]) add(p Provider, begin func(label string) V) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.all == nil {
		es.all = map[place]V{}
	}
	for _, e := range p.Endpoints {
		at := place{p.Name, e.Host, e.Name}
		if _, known := es.all[at]; known {
			continue
		}
		host := e.Host
		if host == "" {
			host = p.Name
		}
		es.all[at] = begin(transport.EndpointName(host, e.Name))
	}
}

// find returns the value for the target of an attempt; false when it is not in the catalogue.
func (es *endpoints[V]) find(provider, host, endpoint string) (V, bool) {
	es.mu.RLock()
	defer es.mu.RUnlock()
	v, ok := es.all[place{provider, host, endpoint}]
	if !ok {
		v, ok = es.all[place{provider, "", endpoint}]
	}
	return v, ok
}

// values returns the values of all endpoints.
func (es *endpoints[V]) values() []V {
	es.mu.RLock()
	defer es.mu.RUnlock()
	return slices.Collect(maps.Values(es.all))
}
