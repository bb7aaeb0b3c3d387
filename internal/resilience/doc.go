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
// [AnswerError.Means]. What an outcome means for the whole call is decided by backoff.Permit.Done.
//
// Why something failed is a [Cause], a value without words.
//
// # Parts
//
//   - backoff: may this connection call now? What a guard returns is a backoff.Failure, which carries the verdict and
//     the change of state.
//   - transport: sends every call, through the guards that all users share: breakers, uplink, paces.
//   - keys: the pools of API keys.
//   - hosts: which addresses may be called, and what a person may know about them.
//   - turns: large answers, one after the other.
//
// Everything here is safe for concurrent use.
package resilience
