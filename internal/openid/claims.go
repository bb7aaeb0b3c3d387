package openid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/config"
)

// Claims are what an issuer says of somebody.
type Claims struct {
	Issuer, Subject string // who it is
	Name            string // how the issuer calls them; empty if it doesn't say
	Groups          []string
	Grouped         bool           // whether it said anything about groups
	Session         string         // of theirs at the issuer; empty if it has no name
	Asked           bool           // whether the issuer has just asked them who they are
	Token           string         // the ID token
	Grant           accounts.Grant // zero where the issuer isn't asked again
	All             map[string]any
}

// In reports whether somebody is in a group of the issuer.
func (c Claims) In(group string) bool { return slices.Contains(c.Groups, group) }

// Called is the issuer's own name for somebody.
func (c Claims) Called() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Subject
}

// signed checks an ID token, and returns what it says of its subject, with its nonce.
func (f *found) signed(ctx context.Context, s config.Issuer, token *oauth2.Token, raw string) (c Claims, nonce string,
	err error) {
	id, err := f.Verifier(&oidc.Config{ClientID: s.ClientID}).Verify(ctx, raw)
	if err != nil {
		return c, "", errors.Join(ErrBroken, err)
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return c, "", errors.Join(ErrBroken, err)
		}
	}
	c = Claims{Issuer: id.Issuer, Subject: id.Subject, Token: raw, All: map[string]any{}}
	if err := id.Claims(&c.All); err != nil {
		return c, "", errors.Join(ErrBroken, err)
	}
	if c.Subject == "" {
		return c, "", fmt.Errorf("%w: no subject", ErrBroken)
	}
	c.Session, _ = c.All["sid"].(string)
	c.say(s)
	return c, id.Nonce, nil
}

// more adds what the issuer tells of the subject of claims where it tells more about people, if it does, and reports
// whether it tells something about groups there.
func (f *found) more(ctx context.Context, s config.Issuer, token *oauth2.Token, c *Claims) (told bool, _ error) {
	if f.UserInfoEndpoint() == "" {
		return false, nil
	}
	info, err := f.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return false, &DownError{hostOf(s.Issuer), err}
	}
	if info.Subject != c.Subject { // somebody else's (section 5.3.2 of OpenID Connect Core)
		return false, errors.Join(ErrBroken, ErrOther)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return false, errors.Join(ErrBroken, err)
	}
	for name, value := range more {
		if _, signed := c.All[name]; !signed {
			c.All[name] = value
		}
	}
	c.say(s)
	_, told = texts(more, s.GroupsClaim)
	return told, nil
}

// say reads the name and the groups from all claims.
func (c *Claims) say(s config.Issuer) {
	c.Name = first(c.All, "preferred_username", "nickname", "name", "email")
	c.Groups, c.Grouped = texts(c.All, s.GroupsClaim)
}

// first returns the first of these claims that is a text.
func first(all map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := all[name].(string); ok && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// texts returns the texts of a claim: a list, or a single one. Keycloak's own roles lie deeper, so a name may be a path
// with dots, such as realm_access.roles.
func texts(all map[string]any, name string) (list []string, there bool) {
	value, there := all[name]
	if head, rest, path := strings.Cut(name, "."); !there && path {
		inner, _ := all[head].(map[string]any)
		return texts(inner, rest)
	}
	switch value := value.(type) {
	case string:
		list = []string{value}
	case []any:
		for _, one := range value {
			if text, ok := one.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list, there
}

// askedBefore reports whether the issuer says that it asked somebody who they are before a time. One that doesn't know
// may say 0.
func askedBefore(all map[string]any, begun time.Time) bool {
	at, _ := all["auth_time"].(float64)
	return at != 0 && time.Unix(int64(at), 0).Before(begun)
}

// justAsked reports whether the issuer says that it asked somebody who they are within the last minutes. Without its
// word, they may have come by what their browser had there.
func justAsked(all map[string]any) bool {
	at, _ := all["auth_time"].(float64)
	return time.Since(time.Unix(int64(at), 0)).Abs() <= PendingFor
}
