package fanarttv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/library"
)

// art holds the pictures of an artist and its albums, or of a single album.
type art struct {
	Name        string    `json:"name"`
	Thumbs      []picture `json:"artistthumb"`
	Backgrounds []picture `json:"artistbackground"`
	Albums      albums    `json:"albums"`
}

type picture struct {
	URL   string `json:"url"`
	Likes count  `json:"likes"`
}

// albums holds the covers by release group. Fanart.tv sends an object, since v3.2 an array. An empty object may come
// as an empty array too.
type albums map[string][]picture

// UnmarshalJSON implements json.Unmarshaler.
func (a *albums) UnmarshalJSON(b []byte) error {
	type album struct {
		ID     string    `json:"release_group_id"`
		Covers []picture `json:"albumcover"`
	}
	*a = albums{}
	if b[0] == '[' {
		var list []album
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, l := range list {
			(*a)[strings.ToLower(l.ID)] = l.Covers
		}
		return nil
	}
	var byID map[string]album
	if err := json.Unmarshal(b, &byID); err != nil {
		return err
	}
	for id, l := range byID {
		(*a)[strings.ToLower(id)] = l.Covers
	}
	return nil
}

func (a albums) covers(mbid string) []picture { return a[strings.ToLower(mbid)] }

// count is a number that Fanart.tv sends as a string. Anything else decodes as 0.
type count int

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(b []byte) error {
	n, _ := strconv.Atoi(string(bytes.Trim(b, `"`))) // 0 without one
	*c = count(n)
	return nil
}

// perKind is the number of pictures to keep of each kind.
const perKind = 5

// best returns the most liked pictures.
func best(kind string, all []picture) (pictures []library.Picture) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b picture) int { return cmp.Compare(b.Likes, a.Likes) })
	for _, p := range all {
		u, err := url.Parse(p.URL)
		if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(pictures) < perKind {
			pictures = append(pictures, library.Picture{Kind: kind, URL: p.URL})
		}
	}
	return pictures
}
