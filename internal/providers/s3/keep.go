package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"

	"reprise/internal/resilience"
)

// metaSum is the header with the object's SHA-256, which is kept with it. The ETag is not a checksum of the body in
// storages that encrypt.
const metaSum = "X-Amz-Meta-Reprise-Sha256"

// object is an object to store.
type object struct {
	key, contentType string
	body             []byte
	md5              [md5.Size]byte
	sha256           [sha256.Size]byte
}

func newObject(key, contentType string, body []byte) object {
	return object{key: key, contentType: contentType, body: body, md5: md5.Sum(body), sha256: sha256.Sum256(body)}
}

func (o *object) md5Base64() string { return base64.StdEncoding.EncodeToString(o.md5[:]) }
func (o *object) sha256Hex() string { return hex.EncodeToString(o.sha256[:]) }

// is reports whether the found object equals o.
func (o *object) is(f *found) bool {
	return f != nil && f.size == int64(len(o.body)) &&
		(f.etag == hex.EncodeToString(o.md5[:]) || f.sum == o.sha256Hex())
}

// Keep implements providers.ObjectStore. After a concurrent change of the object it reads and tries once more, and
// then returns a retriable error.
func (a *adapter) Keep(ctx context.Context, name, contentType string, body []byte) (etag string, err error) {
	if a.err != nil {
		return "", a.err
	}
	o := newObject(a.prefix+name, contentType, body)
	for range 2 {
		if etag, err = a.keep(ctx, o); !changedMeanwhile(err) {
			break
		}
	}
	return etag, err
}

func (a *adapter) keep(ctx context.Context, o object) (string, error) {
	there, refusal := a.head(ctx, o.key)
	if refusal != nil && !wordless(refusal) {
		return "", refusal
	}
	if refusal == nil && o.is(there) {
		return there.etag, nil
	}
	etag, err := a.replace(ctx, o, there)
	if changedMeanwhile(err) && refusal != nil {
		return "", refusal // there is an object that we may not read
	}
	if err != nil {
		return "", err
	}
	return a.verify(ctx, o, etag)
}

// replace writes o on condition that the object is still the one there, if the server supports conditional writes.
func (a *adapter) replace(ctx context.Context, o object, there *found) (string, error) {
	if !a.plain {
		var condition http.Header
		switch {
		case there == nil:
			condition = http.Header{"If-None-Match": {"*"}}
		case there.etag != "":
			condition = http.Header{"If-Match": {`"` + there.etag + `"`}}
		}
		etag, err := a.put(ctx, o, condition)
		if !notBuilt(err) {
			return etag, err
		}
		a.plain = true
	}
	return a.put(ctx, o, nil)
}

// verify checks that the storage holds o now. etag is the ETag that the write returned.
func (a *adapter) verify(ctx context.Context, o object, etag string) (string, error) {
	kept, err := a.head(ctx, o.key)
	switch {
	case err != nil:
		return "", err
	case o.is(kept):
		return kept.etag, nil
	case kept == nil || kept.etag != etag || etag == "":
		m := meanwhile
		return "", &resilience.AnswerError{Endpoint: endpointHead, Status: http.StatusOK, Code: codeChanged,
			Message: "not what was written", Meaning: &m}
	case kept.size != int64(len(o.body)):
		return "", &resilience.ContractError{Endpoint: endpointHead, What: "another size than was written"}
	}
	return etag, nil // the server verified it; its ETag is not a checksum, and it dropped our metadata
}
