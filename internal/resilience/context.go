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
	attempt            int           // number of the first try at each request; 0 means 1
	patience           time.Duration // CallTimeout when it is 0
	permit             *Permit       // of the run; nil for a call that needs none
	safety             safety        // whether a request may be sent twice
	proof              bool          // see WithProof
}

// WithUser returns a context whose upstream calls are made, and logged, for a user at a provider.
func WithUser(ctx context.Context, user int64, provider string) context.Context {
	return context.WithValue(ctx, callKey{}, call{provider: provider, user: user, attempt: callOf(ctx).attempt})
}

// WithProof returns a context for the calls that find out whether what a person has just entered works. They hear of a
// failure at once, and it may be their mistake: it does not count against the service.
func WithProof(ctx context.Context) context.Context {
	c := callOf(ctx)
	c.proof = true
	return context.WithValue(ctx, callKey{}, c)
}

// WithPermit returns a context for the calls of a run that has this permit. Each request asks again whether a stop or a
// hold has come since, and is not sent then: its error is a [NotBeforeError] that says Met. Unless [WithAttempt] has
// numbered them, the calls are numbered behind the failures in a row that went before.
func WithPermit(ctx context.Context, p Permit) context.Context {
	c := callOf(ctx)
	c.permit = &p
	if c.attempt == 0 { // else the caller counts
		c.attempt = p.attempt
	}
	return context.WithValue(ctx, callKey{}, c)
}

// WithAttempt returns a context whose upstream calls are the nth attempt, from 1, at something that was tried in other
// calls before, such as a delivery. Tries inside one call count on from there.
func WithAttempt(ctx context.Context, n int) context.Context {
	c := callOf(ctx)
	c.attempt = n
	return context.WithValue(ctx, callKey{}, c)
}

// WithEndpoint returns a context whose upstream calls are named by that method and route template. [Send] does this
// itself.
func WithEndpoint(ctx context.Context, endpoint string) context.Context {
	c := callOf(ctx)
	c.endpoint = endpoint
	return context.WithValue(ctx, callKey{}, c)
}

// WithPatience returns a context whose upstream calls may take that long instead of [CallTimeout].
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	c := callOf(ctx)
	c.patience = d
	return context.WithValue(ctx, callKey{}, c)
}

// WithXML returns a context whose upstream calls may be answered in XML: only HTML is a page then.
func WithXML(ctx context.Context) context.Context {
	return context.WithValue(ctx, xmlKey{}, true)
}

type xmlKey struct{}

// WithFiles returns a context whose upstream calls go to a server of files. Such a server answers with a page if it
// does not have a file, or wants fewer requests; only such pages are its own answers.
func WithFiles(ctx context.Context) context.Context {
	return context.WithValue(ctx, filesKey{}, true)
}

type filesKey struct{}

// ofFileServer reports whether a page with that status is a file server's own answer.
func ofFileServer(ctx context.Context, status int) bool {
	m := StatusMeaning(status)
	return ctx.Value(filesKey{}) != nil && (m.Scope == ScopeItem || m.Category == RateLimit)
}

// WithPages returns a context whose upstream calls may be answered with a page when they succeed. Its contents are
// ignored.
func WithPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, pagesKey{}, true)
}

type pagesKey struct{}

// isOwnPage reports whether a page with that status is the upstream's own answer, not that of something in between.
func isOwnPage(ctx context.Context, status int) bool {
	return ofFileServer(ctx, status) || status < 300 && ctx.Value(pagesKey{}) != nil
}

// Reader reads a provider's own answers, and notes what the provider's table says about them, before they are judged.
type Reader struct {
	// Explain notes on a failed answer what it means.
	Explain func(*AnswerError)
	// Refused reports whether an answer with a successful status is a refusal, and then notes what it means. Nil if
	// the provider does not do so.
	Refused func(*AnswerError) bool
}

type readerKey struct{}

// WithReader returns a context whose upstream calls are read by r.
func WithReader(ctx context.Context, r Reader) context.Context {
	return context.WithValue(ctx, readerKey{}, r)
}

// AttemptIn returns the number of the first try at each request in a context, from 1.
func AttemptIn(ctx context.Context) int { return max(callOf(ctx).attempt, 1) }

// EndpointOf returns the name of the endpoint that a context calls; empty without one.
func EndpointOf(ctx context.Context) string { return callOf(ctx).endpoint }

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}
