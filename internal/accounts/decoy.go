package accounts

import (
	"encoding/base64"
	"fmt"

	"github.com/alexedwards/argon2id"
)

// decoy is the hash that a password is compared with if there is no such account, so that both answers take equally
// long. It is a constant rather than computed at the start, because hashing takes 19 MiB that an idle server would hold
// for a while. It is not the hash of a known password, and nobody can sign in with it.
var decoy = encoded(params)

func encoded(p *argon2id.Params) string {
	zeros := base64.RawStdEncoding.EncodeToString(make([]byte, max(p.SaltLength, p.KeyLength)))
	part := func(bytes uint32) string { return zeros[:base64.RawStdEncoding.EncodedLen(int(bytes))] }
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", p.Memory, p.Iterations, p.Parallelism, part(p.SaltLength),
		part(p.KeyLength)) // version 19 of RFC 9106
}
