package art

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"reprise/internal/resilience"
)

// endpoint is what the fetching of pictures goes by; their addresses hold ids.
const endpoint = "GET /{picture}"

// Fetch gets a picture from one of the hosts. One that is not there, or is none, or is elsewhere, or too large, is an
// item failure.
func (c *Cache) Fetch(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !c.known(u) {
		return nil, unusable(0, "the picture stands at an address from which none is fetched")
	}
	req, err := http.NewRequestWithContext(resilience.WithFiles(ctx), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, unusable(0, "the picture has no usable address")
	}
	answer, err := resilience.Send(c.client, req, endpoint)
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

// known says whether pictures are fetched from there.
func (c *Cache) known(u *url.URL) bool {
	for _, host := range c.hosts {
		if strings.Contains(host, ":") && u.Host == host || u.Port() == "" && (u.Hostname() == host || strings.HasSuffix(u.Hostname(), "."+host)) {
			return true
		}
	}
	return false
}

// unusable says what is wrong with this one picture.
func unusable(status int, what string) error {
	return &resilience.AnswerError{Endpoint: endpoint, Status: status, Message: what,
		Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem}}
}
