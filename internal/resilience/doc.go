// Package resilience answers two questions about every upstream call: may we make it, and what did its outcome mean.
//
// # Calls
//
// A [Call] is one value: whose it is, how it is made and what permits it. The guard makes it, an adapter is opened for
// it, and [Call.Send] hands it to the transport with each request.
//
// # Facts and verdicts
//
// Adapters and the transport report facts as typed errors: [AnswerError] (the upstream answered, and the answer was a
// failure), [NetworkError] (no complete answer), [ContractError] (an answer that breaks the documented shape) and
// [SettingError] (we could not even ask). Each has a [Verdict], which [VerdictOf] reads. That on an answer is fixed by
// the transport, once; an adapter that knows more of what it asked gives the answer another meaning with
// [AnswerError.Means]. What an outcome means for the whole call is decided by [Permit.Done].
//
// What a guard returns is a [Failure], which carries the verdict and the change of state. Why something failed is a
// [Cause], a value without words.
//
// # Backoff
//
// [Backoff] keeps the retry state per user, provider and stream, in memory and behind one mutex. Asking and deciding is
// one step: [Backoff.Acquire] returns a [Permit], or the time until which there is none. Every permit takes exactly one
// verdict, with [Permit.Done], which returns the [Change] that this outcome made, decided under the same lock. So
// exactly one caller sees each change, however many failed at once, and nobody has to ask for the state again.
//
// What must outlive the process (holds, stops) is in the Change; the caller stores it and gives it back with
// [Backoff.RestoreHold] and [Backoff.RestoreStop].
//
// # Transport
//
// [Transport] is the one http.RoundTripper of the program: it bounds bodies and times, and returns every failure as one
// of the types above. An adapter gives it a [Reader] of the provider's own answers. It repeats a request only where a
// person waits, or where a run that began without trouble reads.
//
// # What all users share
//
// Every request passes three guards, which learn from its verdict: [Breakers] (an endpoint that fails for everybody),
// [Uplink] (our own connection to the internet) and [Paces] (how often an upstream may be asked; a request waits a few
// seconds for its turn). A [KeyTransport] above them tries the keys of a [KeyPool] one after the other. A call that one
// of the three forbids is not made: its error is a [NotBeforeError], and its stream waits without a failure being
// counted.
//
// Everything here is safe for concurrent use.
package resilience
