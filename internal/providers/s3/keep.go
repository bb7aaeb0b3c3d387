package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"

	"github.com/minio/minio-go/v7"

	"reprise/internal/resilience"
)

// metaSum is the object's own metadata in which its SHA-256 stands. Where the storage encrypts with keys of its own,
// the ETag is no checksum of the body.
const metaSum = "Reprise-Sha256"

// object is what is to be kept.
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

// is says whether what was found is o.
func (o *object) is(found *minio.ObjectInfo) bool {
	return found != nil && found.Size == int64(len(o.body)) &&
		(found.ETag == hex.EncodeToString(o.md5[:]) || found.UserMetadata[metaSum] == o.sha256Hex())
}

// Keep implements providers.ObjectStore. When somebody else writes the object at the same time, it looks and tries once
// more; after that it is a failure that passes by itself.
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
	found, refusal := a.head(ctx, o.key)
	if refusal != nil && !wordless(refusal) {
		return "", refusal
	}
	if refusal == nil && o.is(found) {
		return found.ETag, nil
	}
	etag, err := a.replace(ctx, o, found)
	if changedMeanwhile(err) && refusal != nil {
		return "", refusal // something stands there that we may not look at
	}
	if err != nil {
		return "", err
	}
	return a.verify(ctx, o, etag)
}

// replace writes o over what was found and over nothing else, as far as the server knows conditions.
func (a *adapter) replace(ctx context.Context, o object, found *minio.ObjectInfo) (string, error) {
	if !a.plain {
		var opts minio.PutObjectOptions
		switch {
		case found == nil:
			opts.SetMatchETagExcept("*")
		case found.ETag != "":
			opts.SetMatchETag(found.ETag)
		}
		etag, err := a.put(ctx, o, opts)
		if !notBuilt(err) {
			return etag, err
		}
		a.plain = true
	}
	return a.put(ctx, o, minio.PutObjectOptions{})
}

// verify reports whether o is in the storage now. etag is what the write answered.
func (a *adapter) verify(ctx context.Context, o object, etag string) (string, error) {
	kept, err := a.head(ctx, o.key)
	switch {
	case err != nil:
		return "", err
	case o.is(kept):
		return kept.ETag, nil
	case kept == nil || kept.ETag != etag || etag == "":
		m := meanwhile
		return "", &resilience.AnswerError{Endpoint: endpointHead, Status: http.StatusOK, Code: codeChanged,
			Message: "not what was written", Meaning: &m}
	case kept.Size != int64(len(o.body)):
		return "", &resilience.ContractError{Endpoint: endpointHead, What: "another size than was written"}
	}
	return etag, nil // what the server has verified, under an ETag that is no checksum, and without our metadata
}
