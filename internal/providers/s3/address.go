package s3

import (
	"net"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

var adviceAddress = words.New("field.s3.address")

// read reads the fields of the connect form. Its error is a [resilience.SettingError] that does not contain the input.
func (a *adapter) read(c library.Credentials) (err error) {
	if a.endpoint, err = normalise(c[credEndpoint]); err != nil {
		return err
	}
	if a.prefix, err = folder(c[credPrefix]); err != nil {
		return err
	}
	switch {
	case a.bucket == "":
		return setting(credBucket, words.New("field.s3.bucket_empty"))
	case s3utils.CheckValidBucketName(a.bucket) != nil:
		return setting(credBucket, words.New("field.s3.bucket"))
	case a.accessKey == "":
		return setting(credAccessKey, words.New("field.s3.access_key_empty"))
	case strings.ContainsFunc(a.accessKey, notInKey):
		return setting(credAccessKey, words.New("field.s3.access_key"))
	case a.secretKey == "":
		return setting(credSecretKey, words.New("field.s3.secret_key_empty"))
	case strings.ContainsFunc(a.region, notInKey):
		return setting(credRegion, words.New("field.s3.region"))
	}
	return nil
}

// notInKey reports whether r is invalid in the header that contains access key and region.
func notInKey(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || r > unicode.MaxASCII || r == '/' || r == ','
}

// normalise turns a typed storage address into scheme and host; an empty address means Amazon's.
func normalise(typed string) (*url.URL, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		typed = amazon
	}
	guess := !strings.Contains(typed, "://")
	if guess {
		typed = "https://" + typed
	}
	u, err := url.Parse(typed)
	switch {
	case err != nil || !validHost(u.Hostname()):
		return nil, badAddress(adviceAddress)
	case u.User != nil:
		return nil, badAddress(words.New("field.s3.keys"))
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, badAddress(words.New("field.scheme"))
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, badAddress(words.New("field.s3.path"))
	}
	if guess && providers.AtHome(u.Hostname()) {
		u.Scheme = "http"
	}
	base := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	if p := u.Port(); p == "" || p == "443" && u.Scheme == "https" || p == "80" && u.Scheme == "http" {
		base.Host = strings.TrimSuffix(strings.TrimSuffix(base.Host, p), ":")
	}
	return base, nil
}

// validHost reports whether host can be the name of a machine or an IP address. A resolver knows better.
func validHost(host string) bool {
	return net.ParseIP(host) != nil || host != "" && strings.Trim(host, "-_") == host && host[0] != '.' &&
		!strings.ContainsAny(host, "`~!@#$%^&*()+={}[]|\\\"';:><?/")
}

func badAddress(problem words.Text) error { return setting(credEndpoint, problem) }

// maxName is how long the name of an object may be, in bytes.
const maxName = 1024

// folder turns a typed folder into a prefix of object names.
func folder(typed string) (string, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return defaultPrefix, nil
	}
	clean := path.Clean("/" + typed)[1:]
	switch {
	case clean == "":
		return "", nil
	case strings.Contains("/"+typed+"/", "/../"), strings.ContainsFunc(typed, unicode.IsControl),
		len(clean) > maxName, !utf8.ValidString(clean):
		return "", setting(credPrefix, words.New("field.s3.prefix"))
	}
	return clean + "/", nil
}
