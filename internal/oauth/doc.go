// Package oauth gets and renews a person's authorization at a provider that speaks OAuth 2, and gets that of a
// provider with a way of its own (providers.SignIn).
//
// # Consent
//
// [Flow.Begin] sends the person to the provider, [Flow.Complete] handles the answer. The state between them is a
// random text, stored as a fingerprint only, bound to the browser's session, the user and the provider. It
// can be used once, within ten minutes. With OAuth, PKCE (RFC 7636) is always used. A provider's own way has no
// parameter for a state, so there it is part of the address to return to.
//
// # Renewal
//
// [Tokens] returns access tokens. At most one renewal per connection is under way, however many callers ask. Its
// result is stored before anybody uses it, so that a killed process never holds the only copy of a rotated refresh
// token; while the store cannot take it, it is kept and nothing is sent. A credential that has been replaced is
// neither sent nor stored again.
//
// Everything here is safe for concurrent use.
package oauth
