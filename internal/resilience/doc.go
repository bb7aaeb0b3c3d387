// Package resilience answers two questions about every upstream call: may we make it, and what did its outcome mean.
//
// # Facts and verdicts
//
// Adapters and the transport report facts as typed errors: [AnswerError] (the upstream answered, and the answer was a
// failure), [NetworkError] (no complete answer), [ContractError] (an answer that breaks the documented shape) and
// [SettingError] (we could not even ask). [Classify] alone gives a fact its meaning, the [Verdict]. It is pure and
// does not allocate for these types.
//
// # Backoff
//
// [Backoff] keeps the retry state of pulling, per user, provider and stream, in memory and behind one mutex. Asking and
// deciding is one step: [Backoff.Acquire] hands out a [Permit] or says until when not. Every permit takes exactly one
// verdict back, with [Permit.Done], which says, decided under the same lock, whether this very outcome changed the
// state. So exactly one caller announces a change, however many failed at once.
//
// What must outlive the process (holds, fatal states) is in the [Change] that Done returns; the caller stores it and
// hands it back with [Backoff.RestoreHold] and [Backoff.RestoreStop].
//
// # Transport
//
// [Transport] is the one http.RoundTripper of the program: bounded bodies, timeouts, User-Agent, and every failure as
// one of the types above. An adapter hands it a [Reader] of the provider's own words, so that what an attempt meant is
// known there. It never retries.
//
// # What all users share
//
// Three guards stand on the way of every call, and are told the same verdict: [Breakers] (an endpoint that fails for
// everybody), [Uplink] (our own connection to the internet) and [Paces] (how often an upstream may be asked, for whose turn
// a request waits a few seconds). A [KeyTransport] above them gives a request one key of a [KeyPool] after the other. A
// call that one of the three stands against is not made: its error is a [NotBeforeError], and its stream is put off without
// a failure being counted.
//
// Everything here is safe for concurrent use.
package resilience
