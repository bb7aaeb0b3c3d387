package navidrome

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	tokenHeader = "X-Nd-Authorization"
	// maxSignIns limits the sign-ins of one run, for servers that refuse the token they have just issued. Navidrome
	// answers the sixth sign-in within a short time with 429, for the whole household.
	maxSignIns = 2
)

// sessions keeps the tokens of Navidrome's own API between runs, so that a run rarely has to sign in.
type sessions struct {
	mu     sync.Mutex
	tokens map[sessionKey]string
}

// sessionKey is a hash of address, user and password, so that a token is never used with another password.
type sessionKey [sha256.Size]byte

func (a *adapter) sessionKey() sessionKey {
	return sha256.Sum256([]byte(a.base.String() + "\x00" + a.user + "\x00" + a.password))
}

func (s *sessions) get(k sessionKey) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[k]
}

// put stores a token, or deletes it when it is empty.
func (s *sessions) put(k sessionKey, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == "" {
		delete(s.tokens, k)
		return
	}
	s.tokens[k] = token
}

// signIn gets a token from Navidrome's own API.
func (a *adapter) signIn(ctx context.Context) error {
	a.signIns++
	body, err := json.Marshal(map[string]string{"username": a.user, "password": a.password})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base.JoinPath("auth", "login").String(),
		bytes.NewReader(body))
	if err != nil {
		return badAddress(words.New("field.web_address"))
	}
	req.Header.Set("Content-Type", "application/json")
	// A second sign-in does no harm.
	answer, err := a.do(resilience.Read, req, "POST /auth/login", providers.Refusals{Table: ownAPI})
	if err != nil {
		return err
	}
	var session struct {
		Token string `json:"token"`
	}
	if err := providers.DecodeJSON(answer, &session); err != nil {
		return err
	}
	if session.Token == "" {
		return &resilience.ContractError{Endpoint: answer.Endpoint, What: "no token"}
	}
	a.held.put(a.sessionKey(), session.Token)
	return nil
}

// get calls Navidrome's own API and reads the answer into v. When a token is no longer accepted, it signs in again and
// repeats the call once.
func (a *adapter) get(
	ctx context.Context, endpoint string, path []string, query url.Values, v any,
) (*resilience.Answer, error) {
	answer, err := a.getSigned(ctx, endpoint, path, query)
	if err != nil {
		return nil, offered(err)
	}
	if bytes.Equal(bytes.TrimSpace(answer.Body), []byte("null")) {
		return nil, &resilience.ContractError{Endpoint: endpoint, What: "null"}
	}
	return answer, providers.DecodeJSON(answer, v)
}

func (a *adapter) getSigned(
	ctx context.Context, endpoint string, path []string, query url.Values,
) (*resilience.Answer, error) {
	if a.held.get(a.sessionKey()) == "" {
		if err := a.signIn(ctx); err != nil {
			return nil, err
		}
	}
	answer, err := a.getOnce(ctx, endpoint, path, query)
	if e, ok := errors.AsType[*resilience.AnswerError](err); !ok || !e.Unauthorized() {
		return answer, err
	}
	a.held.put(a.sessionKey(), "")
	if a.signIns >= maxSignIns {
		return nil, err
	}
	if err := a.signIn(ctx); err != nil {
		return nil, err
	}
	return a.getOnce(ctx, endpoint, path, query)
}

func (a *adapter) getOnce(
	ctx context.Context, endpoint string, path []string, query url.Values,
) (*resilience.Answer, error) {
	u := a.base.JoinPath(path...)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, badAddress(words.New("field.web_address"))
	}
	key := a.sessionKey()
	req.Header.Set(tokenHeader, "Bearer "+a.held.get(key))
	answer, err := a.do(resilience.ByMethod, req, endpoint, providers.Refusals{Table: ownAPI})
	var next string
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		next = e.Header.Get(tokenHeader)
	} else if err == nil {
		next = answer.Header.Get(tokenHeader)
	}
	if next = strings.TrimPrefix(next, "Bearer "); next != "" {
		a.held.put(key, next)
	}
	return answer, err
}
