package core

import "context"

const linkKey = "link" // in a session: the hash of the code of the link that was opened

// KeepLink notes which link the browser of a session has opened, by the hash of its code, so that the code itself is
// in no address after that.
func (s *Sessions) KeepLink(ctx context.Context, hash string) { s.manager.Put(ctx, linkKey, hash) }

// Link returns the hash that KeepLink noted; empty if there is none.
func (s *Sessions) Link(ctx context.Context) string { return s.manager.GetString(ctx, linkKey) }

// DropLink forgets what KeepLink noted.
func (s *Sessions) DropLink(ctx context.Context) { s.manager.Remove(ctx, linkKey) }
