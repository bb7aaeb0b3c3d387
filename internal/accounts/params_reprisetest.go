//go:build reprisetest

package accounts

import "github.com/alexedwards/argon2id"

// params makes hashing cheap in tests and in the servers that they build with this tag. No release is built with it.
var params = &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
