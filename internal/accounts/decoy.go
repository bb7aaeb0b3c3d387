package accounts

import (
	"encoding/base64"
	"fmt"

	"github.com/alexedwards/argon2id"
)

// decoy is what a password is compared with where there is no account, so that both answers take equally long. It is
// written down, not hashed at the start: a hash takes 19 MiB, which an idle server would keep for a while. It is not
// the hash of any known password, and nobody is signed in by it.
var decoy = encoded(params)

func encoded(p *argon2id.Params) string {
	zeros := base64.RawStdEncoding.EncodeToString(make([]byte, max(p.SaltLength, p.KeyLength)))
	part := func(bytes uint32) string { return zeros[:base64.RawStdEncoding.EncodedLen(int(bytes))] }
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", p.Memory, p.Iterations, p.Parallelism, part(p.SaltLength),
		part(p.KeyLength)) // version 19 of RFC 9106
}
