package hosts

import (
	"context"
	"net"
	"net/http"
	"time"

	"reprise/internal/resilience"
)

// The bounds of every connection; see docs/resilience.md.
const (
	ConnectTimeout = 5 * time.Second
	maxHeader      = 256 << 10 // bytes of an answer
)

// NewBase returns the connection pool below every transport. dial, if not nil, makes every connection; no proxy is
// used then, since it would hide the address.
func NewBase(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if dial == nil {
		dial = (&net.Dialer{Timeout: ConnectTimeout}).DialContext
	} else {
		proxy = nil
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dial,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 100, // as many as deliveries at once, which follow each other
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: ConnectTimeout,
		// The usual 10 MiB of each call would be memory that no turn bounds.
		MaxResponseHeaderBytes: maxHeader,
		// All calls to a host share one HTTP/2 connection. A dead one is dropped on its first failed call, and not
		// when the system notices a quarter of an hour later.
		HTTP2: &http.HTTP2Config{SendPingTimeout: resilience.CallTimeout / 2, PingTimeout: resilience.CallTimeout / 2},
	}
}
