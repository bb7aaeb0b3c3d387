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
// one of the types above. It never retries and never sleeps.
//
// Everything here is safe for concurrent use.
package resilience
