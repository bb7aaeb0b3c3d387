package resilience

import (
	"context"
	"time"
)

type callKey struct{}

type call struct {
	provider, endpoint string
	user               int64
	key                string        // last four characters of the pooled key that the request carries; empty without
	attempt            int           // from 1; 0 where a request is made once
	patience           time.Duration // CallTimeout when it is 0
}

// WithUser returns a context whose upstream calls are logged as made for user at provider.
func WithUser(ctx context.Context, user int64, provider string) context.Context {
	return context.WithValue(ctx, callKey{}, call{provider: provider, user: user})
}

// WithEndpoint returns a context whose upstream calls go by that method and route template. [Send] does this itself.
func WithEndpoint(ctx context.Context, endpoint string) context.Context {
	c := callOf(ctx)
	c.endpoint = endpoint
	return context.WithValue(ctx, callKey{}, c)
}

// WithPatience returns a context whose upstream calls may take that long instead of [CallTimeout], for an upstream whose
// work takes its time.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	c := callOf(ctx)
	c.patience = d
	return context.WithValue(ctx, callKey{}, c)
}

// WithXML returns a context whose upstream calls may be answered in XML: a document is then no page unless it is HTML.
func WithXML(ctx context.Context) context.Context {
	return context.WithValue(ctx, xmlKey{}, true)
}

type xmlKey struct{}

// WithFiles returns a context whose upstream calls ask a server of files, which says with a page that it has not got one,
// or wants to be asked less often. Any other page speaks for nobody there as well.
func WithFiles(ctx context.Context) context.Context {
	return context.WithValue(ctx, filesKey{}, true)
}

type filesKey struct{}

// ofFileServer says whether a page of that status is a server of files' own word.
func ofFileServer(ctx context.Context, status int) bool {
	m := StatusMeaning(status)
	return ctx.Value(filesKey{}) != nil && (m.Scope == ScopeItem || m.Category == RateLimit)
}

// WithPages returns a context whose upstream calls may be answered with a page when they have been taken: what it says
// counts for nothing.
func WithPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, pagesKey{}, true)
}

type pagesKey struct{}

// isOwnPage says whether a page of that status is the upstream's own word, and not that of somebody in between.
func isOwnPage(ctx context.Context, status int) bool {
	return ofFileServer(ctx, status) || status < 300 && ctx.Value(pagesKey{}) != nil
}

// Reader reads a provider's own words in its answers, and notes what its table says about them, before anybody judges
// them.
type Reader struct {
	// Explain notes on a failed answer what it means.
	Explain func(*AnswerError)
	// Refused says whether an answer whose status is a success is a refusal all the same, and then notes what it means.
	// Nil when the provider does not do so.
	Refused func(*AnswerError) bool
}

type readerKey struct{}

// WithReader returns a context whose upstream calls are read by r.
func WithReader(ctx context.Context, r Reader) context.Context {
	return context.WithValue(ctx, readerKey{}, r)
}

// EndpointOf is the endpoint that upstream calls of a context go by; empty without one.
func EndpointOf(ctx context.Context) string { return callOf(ctx).endpoint }

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}
