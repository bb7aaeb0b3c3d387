package providers

import (
	"slices"
	"sync"
)

// Registry holds the live providers of the installation, in the order in which people see them. A provider can be
// replaced while the server runs: a run that is under way finishes with the one it got, and the next one gets the new
// one. Whatever depends on a provider's settings reads them here at each use, or follows the registry. Safe for
// concurrent use.
type Registry struct {
	replacing sync.Mutex // held around followers, so that they see changes in their order
	followers []func(*Provider)

	mu  sync.RWMutex
	all []*Provider // never changed in place, so that All needs no copy
}

// NewRegistry returns a registry of these providers, in this order.
func NewRegistry(all ...*Provider) *Registry { return &Registry{all: all} }

// All returns the providers in their order; none of a nil registry. The caller must not change the slice.
func (r *Registry) All() []*Provider {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.all
}

// Get returns the provider of that name as it is now, or nil.
func (r *Registry) Get(name string) *Provider {
	for _, p := range r.All() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// DisplayName returns a provider's name as people know it, or name itself when there is no such provider.
func (r *Registry) DisplayName(name string) string {
	if p := r.Get(name); p != nil {
		return p.DisplayName
	}
	return name
}

// Model returns the language model's provider; nil when none is set up.
func (r *Registry) Model() *Provider {
	for _, p := range r.All() {
		if p.Model != nil && len(p.Missing) == 0 {
			return p
		}
	}
	return nil
}

// PictureHosts returns where pictures come from: domains, and hosts with a port.
func (r *Registry) PictureHosts() (hosts []string) {
	for _, p := range r.All() {
		if p.Enriches != nil && len(p.Enriches.Pictures) > 0 {
			hosts = append(append(hosts, p.Enriches.Pictures...), p.APIHost(p.Settings))
		}
	}
	return hosts
}

// Follow calls told with every provider: those that are there now, and each later one before anybody can get it. It
// must not use the registry.
func (r *Registry) Follow(told func(*Provider)) {
	r.replacing.Lock()
	defer r.replacing.Unlock()
	for _, p := range r.All() {
		told(p)
	}
	r.followers = append(r.followers, told)
}

// Replace puts p in the place of the provider of the same name, or at the end when there is none.
func (r *Registry) Replace(p *Provider) {
	r.replacing.Lock()
	defer r.replacing.Unlock()
	for _, told := range r.followers {
		told(p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.all)
	if i := slices.IndexFunc(all, func(old *Provider) bool { return old.Name == p.Name }); i >= 0 {
		all[i] = p
	} else {
		all = append(all, p)
	}
	r.all = all
}
