package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// variables reads the standard variables of OpenTelemetry. err names the first that is wrong.
type variables struct{ err error }

func (e *variables) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// first returns the first of some variables that is set, and its name; the last name if none is.
func first(names ...string) (value, name string) {
	for _, name = range names {
		if value = strings.TrimSpace(os.Getenv(name)); value != "" {
			break
		}
	}
	return value, name
}

// number returns a number that is not negative.
func (e *variables) number(usual int, names ...string) int {
	text, name := first(names...)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		e.fail("%s must be a number such as %d", name, max(usual, 100))
		return usual
	}
	return n
}

func (e *variables) milliseconds(usual int, names ...string) time.Duration {
	return time.Duration(e.number(usual, names...)) * time.Millisecond
}

// list reads pairs such as "tenant=home%20lab,tier=1". The error does not contain them, because they can be secrets.
func (e *variables) list(names ...string) map[string]string {
	all := map[string]string{}
	text, from := first(names...)
	if text == "" {
		return all
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			e.fail("%s must be a list such as name=value,name=value, with values escaped as in a URL", from)
		}
		all[name] = value
	}
	return all
}

// The usual values are those of
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.

func (e *variables) batch() batch {
	b := batch{queue: max(1, e.number(2048, "OTEL_BSP_MAX_QUEUE_SIZE")),
		size:    max(1, e.number(512, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE")),
		delay:   e.milliseconds(5000, "OTEL_BSP_SCHEDULE_DELAY"),
		timeout: e.milliseconds(30_000, "OTEL_BSP_EXPORT_TIMEOUT")}
	b.size = min(b.size, b.queue)
	if b.timeout == 0 { // which is none, as in an http.Client
		b.timeout = math.MaxInt64
	}
	return b
}

func (e *variables) limits() limits {
	l := limits{count: e.number(128, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")}
	l.length = e.number(-1, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
	return l
}

// sampler returns what decides whether a trace is sent. Every trace begins here, so that what its parent decided never
// matters.
func (e *variables) sampler() func(id) bool {
	text, name := first("OTEL_TRACES_SAMPLER")
	switch strings.TrimPrefix(strings.ToLower(text), "parentbased_") {
	case "", "always_on":
		return func(id) bool { return true }
	case "always_off":
		return func(id) bool { return false }
	case "traceidratio":
		share := 1.0
		if text, name := first("OTEL_TRACES_SAMPLER_ARG"); text != "" {
			var err error
			if share, err = strconv.ParseFloat(text, 64); err != nil || !(share >= 0 && share <= 1) {
				e.fail("%s must be a number from 0 to 1", name)
			}
		}
		return func(trace id) bool { return float64(binary.BigEndian.Uint64(trace[8:])>>1) < share*(1<<63) }
	}
	e.fail("%s must be always_on, always_off or traceidratio, also with parentbased_ in front", name)
	return nil
}

// resource returns the attributes of this process.
func (e *variables) resource(version string) (all []message) {
	about := map[string]string{"service.name": "reprise", "service.version": version, "telemetry.sdk.name": "reprise",
		"telemetry.sdk.language": "go", "telemetry.sdk.version": version}
	maps.Copy(about, e.list("OTEL_RESOURCE_ATTRIBUTES"))
	if name, _ := first("OTEL_SERVICE_NAME"); name != "" {
		about["service.name"] = name
	}
	for _, key := range slices.Sorted(maps.Keys(about)) {
		all = append(all, text(key, about[key]))
	}
	return all
}

// The variables of the exporter are those of https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
const (
	everything = "OTEL_EXPORTER_OTLP_"
	ofTraces   = everything + "TRACES_" // wins
)

func exporting(name string) (value, from string) { return first(ofTraces+name, everything+name) }

func (e *variables) exporter(version string) *exporter {
	address := e.endpoint()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig = e.certificates(); transport.TLSClientConfig != nil && address.Scheme == "http" {
		e.fail(everything + "CERTIFICATE and CLIENT_CERTIFICATE need an address with https://")
	}
	to := &exporter{url: address.String(), headers: http.Header{"User-Agent": {"Reprise/" + version}}}
	to.client = &http.Client{Transport: transport,
		Timeout: e.milliseconds(10_000, ofTraces+"TIMEOUT", everything+"TIMEOUT")}
	for name, value := range e.list(ofTraces+"HEADERS", everything+"HEADERS") {
		to.headers.Set(name, value)
	}
	to.gzip = e.choice("COMPRESSION", "none", "gzip") == "gzip"
	to.json = e.choice("PROTOCOL", "http/protobuf", "http/json") == "http/json"
	return to
}

// choice returns a variable of the exporter that must have one of two values, if it is set.
func (e *variables) choice(name, usual, other string) string {
	value, from := exporting(name)
	if value != "" && value != usual && value != other {
		e.fail("%s must be %s or %s", from, usual, other)
	}
	return value
}

// endpoint returns the address of the collector. OTEL_EXPORTER_OTLP_ENDPOINT is where it takes everything, traces
// below it; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is where it takes traces.
func (e *variables) endpoint() *url.URL {
	text, name := exporting("ENDPOINT")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		e.fail("%s must be an address such as http://127.0.0.1:4318", name)
		return &url.URL{}
	}
	if name == everything+"ENDPOINT" {
		u = u.JoinPath("v1/traces")
	} else if u.Path == "" {
		u.Path = "/"
	}
	if u.Scheme != "http" {
		u.Scheme = "https"
	}
	switch insecure, _ := exporting("INSECURE"); {
	case strings.EqualFold(insecure, "true"):
		u.Scheme = "http"
	case insecure != "":
		u.Scheme = "https"
	}
	return u
}

// certificates returns what the collector's certificate is checked with and what this program shows it, if the
// environment names either.
func (e *variables) certificates() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, name := exporting("CERTIFICATE"); file != "" {
		c.RootCAs = x509.NewCertPool()
		text, err := os.ReadFile(file)
		if err != nil {
			e.fail("%s: %w", name, err)
		} else if !c.RootCAs.AppendCertsFromPEM(text) {
			e.fail("%s must name a file with certificates in PEM", name)
		}
	}
	file, name := exporting("CLIENT_CERTIFICATE")
	key, _ := exporting("CLIENT_KEY")
	if file != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			e.fail("%s and its CLIENT_KEY: %w", name, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if c.RootCAs == nil && c.Certificates == nil {
		return nil
	}
	return c
}
