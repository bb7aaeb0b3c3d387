package core

import (
	"context"
	"encoding/json"
	"time"
)

const linkKey = "link" // in a session: the hash of the code of the link that was opened

// KeepLink notes which link the browser of a session has opened, by the hash of its code, so that the code itself is
// in no address after that.
func (s *Sessions) KeepLink(ctx context.Context, hash string) { s.manager.Put(ctx, linkKey, hash) }

// Link returns the hash that KeepLink noted; empty if there is none.
func (s *Sessions) Link(ctx context.Context) string { return s.manager.GetString(ctx, linkKey) }

// DropLink forgets what KeepLink noted.
func (s *Sessions) DropLink(ctx context.Context) { s.manager.Remove(ctx, linkKey) }

// Brief has a session that nobody has signed in to end soon: strangers begin them.
func (s *Sessions) Brief(ctx context.Context, d time.Duration) {
	if s.manager.GetInt64(ctx, userKey) == 0 {
		s.manager.SetDeadline(ctx, time.Now().Add(d).UTC())
	}
}

// Keep keeps something for a later request of the same browser, in place of what was kept under that name.
func (s *Sessions) Keep(ctx context.Context, name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		s.manager.Put(ctx, name, string(text))
	}
	return err
}

// Kept reads into v what Keep kept under a name, and reports whether there was anything.
func (s *Sessions) Kept(ctx context.Context, name string, v any) bool {
	return json.Unmarshal([]byte(s.manager.GetString(ctx, name)), v) == nil
}

// Drop forgets what Keep kept under a name.
func (s *Sessions) Drop(ctx context.Context, name string) { s.manager.Remove(ctx, name) }
