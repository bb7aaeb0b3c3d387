// Package s3 keeps an archive in any S3-compatible storage: Amazon's, or a person's own MinIO, Garage, Ceph, versitygw
// and the like.
//
// An object is sent in one request with its checksums and read before and after. Equal objects are not written again,
// concurrent changes are not overwritten without reading them, and every write is verified. Credentials are only used
// to sign and are never part of an error.
package s3

import (
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The names of the credentials, which are the form's fields.
const (
	credEndpoint  = "endpoint"
	credBucket    = "bucket"
	credRegion    = "region" // learned when left empty
	credAccessKey = "access_key"
	credSecretKey = "secret_key"
	credPrefix    = "prefix"
)

const (
	amazon        = "https://" + amazonHost
	defaultRegion = "us-east-1" // the default of S3, and the only region of most servers
	defaultPrefix = "reprise/"
)

// Describe returns the description of S3-compatible storages.
func Describe() providers.Description {
	return providers.Description{
		Name: "s3", DisplayName: "S3 archive", Named: words.New("provider.s3"),
		Icon: "M4 6c0-2 16-2 16 0l-2 14c0 1.5-12 1.5-12 0zM6.2 8.2l1.5 11c2 .7 6.6.7 8.6 0l1.5-11c-3 " +
			".9-8.6.9-11.6 0z",
		Purpose:   words.New("s3.purpose"),
		Endpoints: []string{endpointHead, endpointGet, endpointPut, endpointDelete},
		Takes:     providers.Takes{Archive: true},
		Owner:     providers.OwnServer,
		Fields:    fields,
		Tables:    tables(),
		Build:     build,
	}
}

var fields = []providers.Field{
	{Name: credEndpoint, Label: words.New("s3.field.endpoint"), Kind: "url", Optional: true,
		Help: words.New("s3.field.endpoint_help")},
	{Name: credBucket, Label: words.New("s3.field.bucket"), Kind: "text", Help: words.New("s3.field.bucket_help")},
	{Name: credAccessKey, Label: words.New("s3.field.access_key"), Kind: "text",
		Help: words.New("s3.field.access_key_help")},
	{Name: credSecretKey, Label: words.New("s3.field.secret_key"), Kind: "password"},
	{Name: credRegion, Label: words.New("s3.field.region"), Kind: "text", Optional: true,
		Help: words.New("s3.field.region_help")},
	{Name: credPrefix, Label: words.New("s3.field.prefix"), Kind: "text", Optional: true,
		Help: words.New("s3.field.prefix_help")},
}

func build(providers.Settings, providers.Installation) (providers.Provider, error) {
	return providers.Provider{
		App: func(c library.Credentials) string {
			u, err := normalise(c[credEndpoint])
			if err != nil {
				return ""
			}
			return u.Host
		},
		Open: func(call resilience.Call, c library.Credentials) providers.Adapter { return open(call, c) },
	}, nil
}

type adapter struct {
	call      resilience.Call
	endpoint  *url.URL
	bucket    string
	prefix    string // empty, or ends with a slash
	region    string
	accessKey string
	secretKey string

	err   error  // the error of invalid credentials
	plain bool   // the server does not support conditional writes
	told  string // the region that the latest refusal named
	moved string // the scheme and host of the latest redirect
}

func open(call resilience.Call, c library.Credentials) *adapter {
	a := &adapter{
		call:      call,
		bucket:    strings.TrimSpace(c[credBucket]),
		region:    strings.TrimSpace(c[credRegion]),
		accessKey: strings.TrimSpace(c[credAccessKey]),
		secretKey: strings.TrimSpace(c[credSecretKey]),
	}
	if a.err = a.read(c); a.err != nil {
		return a
	}
	a.region = firstOf(a.region, s3utils.GetRegionFromURL(*a.endpoint), defaultRegion)
	return a
}

// redact takes the credentials out of a server's message, in case it repeats them.
func (a *adapter) redact(text string) string {
	for _, secret := range []string{a.secretKey, a.accessKey} {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}

func setting(name string, problem words.Text) error {
	return &resilience.SettingError{Setting: name, Problem: problem}
}
