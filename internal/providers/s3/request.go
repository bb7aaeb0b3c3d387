package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

const amazonHost = "s3.amazonaws.com"

// host returns where the bucket is, and whether its name is a part of that. Amazon's address depends on the region,
// unless it says more than that, such as that of a private network.
func (a *adapter) host() (host string, named bool) {
	host = a.endpoint.Host
	name, region := a.endpoint.Hostname(), s3utils.GetRegionFromURL(*a.endpoint)
	if name == amazonHost ||
		region != "" && (strings.HasPrefix(name, "s3."+region+".") || strings.HasPrefix(name, "s3-"+region+".")) {
		host = "s3." + a.region + ".amazonaws.com"
		if strings.HasPrefix(a.region, "cn-") {
			host += ".cn"
		}
	}
	if named = s3utils.IsVirtualHostSupported(*a.endpoint, a.bucket); named {
		host = a.bucket + "." + host
	}
	return host, named
}

// request returns a signed request for an object. The header may have what S3 wants to be signed.
func (a *adapter) request(ctx context.Context, method, key string, body []byte, header http.Header) (*http.Request,
	error) {
	host, named := a.host()
	path := "/" + key
	if !named {
		path = "/" + a.bucket + path
	}
	u := &url.URL{Scheme: a.endpoint.Scheme, Host: host, Path: path, RawPath: s3utils.EncodePath(path)}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if !a.mayRepeat(method, body) {
		req.GetBody = nil
	}
	maps.Copy(req.Header, header)
	sum := sha256.Sum256(body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	return signer.SignV4(*req, a.accessKey, a.secretKey, "", a.region), nil
}

// mayRepeat reports whether a body may be sent again inside one call: the small object of the trial, for which a person
// waits. The same object twice is one object, and what is gone stays gone.
func (a *adapter) mayRepeat(method string, body []byte) bool {
	return method == http.MethodPut && a.call.Eager && len(body) <= maxRepeated
}

// maxRepeated is the size, in bytes, of the largest object whose writing may be repeated inside one call.
const maxRepeated = 64 << 10
