package s3

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"reprise/internal/resilience"
)

// amazonHost matches Amazon's addresses of a region, such as s3.eu-central-1.amazonaws.com, and those that say more: of
// a private network, of IPv6, of cryptography by FIPS. Its groups are what they say, and the region.
var amazonHost = regexp.MustCompile(`^((?:(?:bucket|accesspoint)\.vpce-[^.]+\.)?)s3((?:-fips)?(?:\.dualstack)?)` +
	`[.-]([a-z]+(?:-[a-z]+)+-\d+)(?:\.vpce)?\.amazonaws\.com(?:\.cn)?$`)

// regionOf returns the region that an address names, if any.
func regionOf(host string) string {
	if m := amazonHost.FindStringSubmatch(host); m != nil {
		return m[3]
	}
	return ""
}

// host returns where the bucket is, and whether its name is a part of that. Amazon, Google and Alibaba want that, but
// have no certificate for a name with dots. Amazon's address depends on the region, unless it says more than that.
func (a *adapter) host() (host string, named bool) {
	host = a.endpoint.Host
	name := a.endpoint.Hostname()
	of := amazonHost.FindStringSubmatch(name)
	if name == "s3.amazonaws.com" || of != nil && of[1]+of[2] == "" {
		host = "s3." + a.region + ".amazonaws.com"
		if strings.HasPrefix(a.region, "cn-") {
			host += ".cn"
		}
	}
	named = name == "s3.amazonaws.com" || of != nil || name == "storage.googleapis.com" ||
		strings.HasSuffix(name, ".aliyuncs.com")
	if named = named && (a.endpoint.Scheme == "http" || !strings.Contains(a.bucket, ".")); named {
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
	u := &url.URL{Scheme: a.endpoint.Scheme, Host: host, Path: path, RawPath: escaped(path)}
	if method == http.MethodDelete && resilience.IsProbe(ctx) || mayRepeat(ctx, method, body) {
		ctx = resilience.AsRead(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if !mayRepeat(ctx, method, body) {
		req.GetBody = nil
	}
	maps.Copy(req.Header, header)
	a.sign(req, body, time.Now().UTC())
	return req, nil
}

// mayRepeat reports whether a body may be sent again inside one call: the small object of the trial, for which a person
// waits. The same object twice is one object, and what is gone stays gone.
func mayRepeat(ctx context.Context, method string, body []byte) bool {
	return method == http.MethodPut && resilience.IsProbe(ctx) && len(body) <= maxRepeated
}

// maxRepeated is the size, in bytes, of the largest object whose writing may be repeated inside one call.
const maxRepeated = 64 << 10

// sign signs a request with everything in its header, by version 4 of Amazon's signatures
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
func (a *adapter) sign(req *http.Request, body []byte, now time.Time) {
	sum := sha256.Sum256(body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	req.Header.Set("X-Amz-Date", now.Format("20060102T150405Z"))
	signed := map[string]string{"host": req.URL.Host}
	for name, values := range req.Header {
		signed[strings.ToLower(name)] = strings.Join(strings.Fields(strings.Join(values, ",")), " ")
	}
	names := slices.Sorted(maps.Keys(signed))
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n\n", req.Method, req.URL.EscapedPath())
	for _, name := range names {
		fmt.Fprintf(&canonical, "%s:%s\n", name, signed[name])
	}
	fmt.Fprintf(&canonical, "\n%s\n%x", strings.Join(names, ";"), sum)

	day := now.Format("20060102")
	scope := day + "/" + a.region + "/s3/aws4_request"
	key := []byte("AWS4" + a.secretKey)
	for _, part := range []string{day, a.region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	hash := sha256.Sum256([]byte(canonical.String()))
	signature := mac(key, fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", req.Header.Get("X-Amz-Date"), scope, hash))
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		a.accessKey, scope, strings.Join(names, ";"), signature))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// escaped escapes all of a path but slashes and the characters that RFC 3986 leaves as they are, as signatures want it.
func escaped(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || strings.IndexByte("-_.~", c) >= 0 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// bucketName matches what any storage takes as the name of a bucket. Amazon's rules are stricter, but not those of its
// oldest buckets and of others.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{1,61}[A-Za-z0-9]$`)

func validBucket(name string) bool {
	return bucketName.MatchString(name) && net.ParseIP(name) == nil && !strings.Contains(name, "..") &&
		!strings.Contains(name, ".-") && !strings.Contains(name, "-.")
}
