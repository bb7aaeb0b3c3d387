package s3

import (
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"

	"reprise/internal/library"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

const adviceAddress = "This is not a web address. Enter the S3 endpoint of your storage, for example " +
	"https://s3.example.org."

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
		return setting(credBucket, "Enter the name of a bucket.")
	case s3utils.CheckValidBucketName(a.bucket) != nil:
		return setting(credBucket,
			"This cannot be the name of a bucket. Enter the name alone, without the address or a folder.")
	case a.accessKey == "":
		return setting(credAccessKey, "Enter the access key.")
	case strings.ContainsFunc(a.accessKey, notInKey):
		return setting(credAccessKey,
			"This cannot be an access key: there is a space or another stray character in it.")
	case a.secretKey == "":
		return setting(credSecretKey, "Enter the secret key that belongs to the access key.")
	case strings.ContainsFunc(a.region, notInKey):
		return setting(credRegion,
			"This cannot be a region. Enter its short name, for example eu-central-1, or leave it empty.")
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
	case err != nil || u.Hostname() == "":
		return nil, badAddress(adviceAddress)
	case u.User != nil:
		return nil, badAddress("Leave the keys out of the address; they have fields of their own.")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, badAddress("The address must begin with https:// or http://.")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, badAddress("The address must end with the host. The bucket and the folder in it have fields " +
			"of their own.")
	}
	if guess && atHome(u.Hostname()) {
		u.Scheme = "http"
	}
	base := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}
	if p := u.Port(); p == "" || p == "443" && u.Scheme == "https" || p == "80" && u.Scheme == "http" {
		base.Host = strings.TrimSuffix(strings.TrimSuffix(base.Host, p), ":")
	}
	return base, nil
}

func badAddress(problem string) error { return setting(credEndpoint, problem) }

// atHome reports whether host is this machine or a literal address of a private network, where TLS is unlikely.
func atHome(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}

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
		s3utils.CheckValidObjectName(clean) != nil:
		return "", setting(credPrefix, "This cannot be a folder in a bucket. Enter a name like reprise/.")
	}
	return clean + "/", nil
}
