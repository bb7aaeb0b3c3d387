package providers

import (
	"slices"
	"sync"
)

// Registry holds the live providers of the installation, in the order in which people see them. A provider can be
// replaced while the server runs: current runs finish with the old one, and later runs get the new one. Code that
// depends on a provider's settings reads them here at each use, or follows the registry. A Registry is safe for
// concurrent use.
type Registry struct {
	replacing sync.Mutex // held around followers, so that they see changes in their order
	followers []func(*Provider)

	mu  sync.RWMutex
	all []*Provider // never changed in place, so that All needs no copy
}

// NewRegistry returns a registry of these providers, in this order.
func NewRegistry(all ...*Provider) *Registry { return &Registry{all: all} }

// All returns the providers in order, or nil for a nil Registry. The caller must not change the slice.
func (r *Registry) All() []*Provider {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.all
}

// Get returns the current provider of that name, or nil.
func (r *Registry) Get(name string) *Provider {
	for _, p := range r.All() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// DisplayName returns a provider's name for people, or name itself when there is no such provider.
func (r *Registry) DisplayName(name string) string {
	if p := r.Get(name); p != nil {
		return p.DisplayName
	}
	return name
}

// Model returns the provider of the language model, or nil when none is configured.
func (r *Registry) Model() *Provider {
	for _, p := range r.All() {
		if p.Model != nil && len(p.Missing) == 0 {
			return p
		}
	}
	return nil
}

// PictureHosts returns the domains, and hosts with ports, that pictures come from.
func (r *Registry) PictureHosts() (hosts []string) {
	for _, p := range r.All() {
		if p.Enriches != nil && len(p.Enriches.Pictures) > 0 {
			hosts = append(append(hosts, p.Enriches.Pictures...), p.APIHost(p.Settings))
		}
	}
	return hosts
}

// Follow calls f with every current provider, and with each later one before Get returns it. f must not use the
// registry.
func (r *Registry) Follow(f func(*Provider)) {
	r.replacing.Lock()
	defer r.replacing.Unlock()
	for _, p := range r.All() {
		f(p)
	}
	r.followers = append(r.followers, f)
}

// Settle waits until Get returns what followers have been called with.
func (r *Registry) Settle() {
	r.replacing.Lock()
	defer r.replacing.Unlock()
}

// Replace replaces the provider of the same name by p, or appends p.
func (r *Registry) Replace(p *Provider) {
	r.replacing.Lock()
	defer r.replacing.Unlock()
	for _, f := range r.followers {
		f(p)
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
