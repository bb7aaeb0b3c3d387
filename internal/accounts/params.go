//go:build !reprisetest

package accounts

import "github.com/alexedwards/argon2id"

// params is OWASP's recommendation for argon2id with 19 MiB of memory (Password Storage Cheat Sheet).
var params = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
