// Package oauth gets and renews the permission of a person at a provider that speaks OAuth 2, and gets that of a
// provider with a way of its own (providers.SignIn).
//
// # Consent
//
// [Flow.Begin] sends the person to the provider, [Flow.Complete] takes the answer back. The state between them is a
// random text of which only a fingerprint is stored, bound to the browser's session, the user and the provider. It can
// be used once and for ten minutes. With OAuth, PKCE (RFC 7636) is always used. A provider's own way knows no parameter for a
// state, so there it is a part of the address to come back to.
//
// # Renewal
//
// [Tokens] hands out access tokens. At most one renewal per connection is under way, however many ask; its result is
// stored before anybody uses it, so that a killed process never holds the only copy of a rotated refresh token; while
// the store cannot take it, it is kept and nothing is sent. A credential that was replaced meanwhile is neither sent nor
// stored again.
//
// Everything here is safe for concurrent use.
package oauth
