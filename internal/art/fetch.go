package art

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"reprise/internal/resilience"
)

// endpoint names all addresses of pictures in logs and metrics.
const endpoint = "GET /{picture}"

// Fetch gets a picture from one of the hosts, as a part of the call. If it is missing, too large, no picture, or at
// another host, the failure is about this picture only.
func (c *Cache) Fetch(ctx context.Context, call resilience.Call, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !c.known(u) {
		return nil, unusable(0, "the picture stands at an address from which none is fetched")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, unusable(0, "the picture has no usable address")
	}
	answer, err := call.Send(req, resilience.Endpoint{Name: endpoint, Files: true})
	switch {
	case err != nil:
		return nil, err
	case int64(len(answer.Body)) > c.largest():
		return nil, unusable(answer.Status, fmt.Sprintf("the picture has more than %d MiB", c.largest()>>20))
	case kindOf(answer.Body) == "":
		return nil, unusable(answer.Status, "what came is no picture")
	}
	return answer.Body, nil
}

// known reports whether an address belongs to one of the hosts.
func (c *Cache) known(u *url.URL) bool {
	for _, host := range c.hosts() {
		exact := strings.Contains(host, ":") && u.Host == host
		domain := u.Hostname() == host || strings.HasSuffix(u.Hostname(), "."+host)
		if exact || u.Port() == "" && domain {
			return true
		}
	}
	return false
}

// unusable returns a failure of one picture only.
func unusable(status int, what string) error {
	return &resilience.AnswerError{
		Endpoint: endpoint,
		Status:   status,
		Message:  what,
		Meaning:  &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem},
	}
}
