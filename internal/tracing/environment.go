package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// usualTimeout is how long a collector may take to answer if OTEL_EXPORTER_OTLP_TIMEOUT says nothing; see
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
const usualTimeout = 10 * time.Second

const environment = "OTEL_EXPORTER_OTLP_"

// setting returns a variable of the exporter, and its name: the one for traces, or else the one for everything.
func setting(name string) (value, from string) {
	for _, from = range []string{environment + "TRACES_" + name, environment + name} {
		if value = strings.TrimSpace(os.Getenv(from)); value != "" {
			break
		}
	}
	return value, from
}

// newExporter returns an exporter as the variables of the environment describe it. Its errors name the variable.
func newExporter(version string) (*exporter, error) {
	address, err := endpoint()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = certificates(); err != nil {
		return nil, err
	}
	if transport.TLSClientConfig != nil && address.Scheme == "http" {
		return nil, errors.New(environment + "CERTIFICATE and CLIENT_CERTIFICATE need an address with https://")
	}
	e := &exporter{url: address.String(), headers: http.Header{"User-Agent": {"Reprise/" + version}},
		client: &http.Client{Transport: transport, Timeout: usualTimeout}}
	if text, name := setting("TIMEOUT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s must be a number of milliseconds", name)
		}
		e.client.Timeout = time.Duration(n) * time.Millisecond
	}
	compression, _ := setting("COMPRESSION")
	protocol, _ := setting("PROTOCOL")
	e.gzip, e.json = compression == "gzip", protocol == "http/json"
	return e, e.readHeaders()
}

// endpoint returns the address of the collector. OTEL_EXPORTER_OTLP_ENDPOINT is where it takes everything, traces
// below it; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is where it takes traces.
func endpoint() (*url.URL, error) {
	text, name := setting("ENDPOINT")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s must be an address such as http://127.0.0.1:4318", name)
	}
	if name == environment+"ENDPOINT" {
		u = u.JoinPath("v1/traces")
	} else if u.Path == "" {
		u.Path = "/"
	}
	if u.Scheme != "http" {
		u.Scheme = "https"
	}
	switch insecure, _ := setting("INSECURE"); {
	case strings.EqualFold(insecure, "true"):
		u.Scheme = "http"
	case insecure != "":
		u.Scheme = "https"
	}
	return u, nil
}

// certificates returns what the collector's certificate is checked with and what this program shows it, if the
// environment names either.
func certificates() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, name := setting("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s must name a file with certificates in PEM", name)
		}
	}
	file, name := setting("CLIENT_CERTIFICATE")
	key, _ := setting("CLIENT_KEY")
	if file != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			return nil, fmt.Errorf("%s and its CLIENT_KEY: %w", name, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if c.RootCAs == nil && c.Certificates == nil {
		return nil, nil
	}
	return c, nil
}

// readHeaders reads headers such as "api-key=secret,tenant=home%20lab". The error does not contain them, because they
// are secrets.
func (e *exporter) readHeaders() error {
	text, from := setting("HEADERS")
	if text == "" {
		return nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return fmt.Errorf("%s must be a list such as name=value,name=value, with values escaped as in a URL", from)
		}
		e.headers.Set(name, value)
	}
	return nil
}
