package updates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"reprise/internal/resilience"
)

// endpoint names the address of releases in logs.
const endpoint = "GET /{releases}"

// release is an entry of a list of releases, as the APIs of GitHub, Forgejo, Gitea and GitLab have it.
type release struct {
	Tag        string `json:"tag_name"`
	Page       string `json:"html_url"`
	Draft      bool   `json:"draft"`
	Prerelease bool   `json:"prerelease"`
	Upcoming   bool   `json:"upcoming_release"`
	Links      struct {
		Self string `json:"self"` // GitLab's name for the page
	} `json:"_links"`
}

// version returns the version as v1.2.3, or "" if the tag is none, or is that of no full release.
func (r release) version() string {
	v := "v" + strings.TrimPrefix(r.Tag, "v")
	if r.Draft || r.Prerelease || r.Upcoming || !semver.IsValid(v) || semver.Prerelease(v) != "" {
		return ""
	}
	return semver.Canonical(v)
}

// number returns the version as a number: 1002003 for 1.2.3.
func (r release) number() (n int64) {
	for part := range strings.SplitSeq(strings.TrimPrefix(r.version(), "v"), ".") {
		i, _ := strconv.ParseInt(part, 10, 64)
		n = 1000*n + i
	}
	return n
}

// longestPage bounds the address of a page that people are shown.
const longestPage = 200

// page returns the address of the page about the release, or "" if there is none that can be shown.
func (r release) page() string {
	page := r.Page
	if page == "" {
		page = r.Links.Self
	}
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(page) > longestPage {
		return ""
	}
	return u.String()
}

// newest returns the newest release at an address that answers with a list of them, or with one.
func (l *Looker) newest(ctx context.Context, address string) (best release, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return best, errors.New("updates.url is no web address")
	}
	req.Header.Set("Accept", "application/json")
	answer, err := resilience.Call{Client: l.opt.Client}.Send(req, resilience.Endpoint{Name: endpoint})
	if err != nil {
		return best, err
	}
	if answer.Status != http.StatusOK {
		return best, fmt.Errorf("%s answers with status %d", req.URL.Host, answer.Status)
	}
	body := bytes.TrimSpace(answer.Body)
	all := make([]release, 1)
	if bytes.HasPrefix(body, []byte("[")) {
		err = json.Unmarshal(body, &all)
	} else {
		err = json.Unmarshal(body, &all[0])
	}
	if err != nil {
		return best, fmt.Errorf("%s does not answer with a list of releases: %w", req.URL.Host, err)
	}
	for _, r := range all {
		if semver.Compare(r.version(), best.version()) > 0 {
			best = r
		}
	}
	return best, nil
}
