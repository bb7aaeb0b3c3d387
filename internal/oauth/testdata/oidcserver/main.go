// Oidcserver is a real OAuth 2 server on loopback for the tests of package oauth: the example provider of
// github.com/zitadel/oidc. It has one public client that must use PKCE, rotates refresh tokens, and takes permissions
// back. It prints its address on a line of its own when it is ready, and ends when its standard input does, so that it
// never outlives the test that started it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	log.SetFlags(0)
	client := flag.String("client", "reprise", "id of the public client")
	redirect := flag.String("redirect", "http://127.0.0.1/callback",
		"where its consents lead back to; any port of loopback will do")
	life := flag.Duration("life", 5*time.Minute,
		"how long an access token lasts, in whole seconds, at most five minutes")
	flag.Parse()

	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that counts
		os.Exit(0)
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	issuer := fmt.Sprintf("http://%s/", listener.Addr())
	storage.RegisterClients(storage.NativeClient(*client, *redirect))
	kept := &shortLived{Storage: storage.NewStorage(storage.NewUserStore(issuer)), life: *life,
		ends: map[string]time.Time{}}
	router := exampleop.SetupServer(issuer, kept, slog.New(slog.DiscardHandler), false)
	fmt.Println(issuer)
	log.Fatal(http.Serve(listener, refusals(router)))
}

// refusals answers 401 for an access token that is not good any more, as RFC 6750, section 3.1, has it; the example
// says 403.
func refusals(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/userinfo" {
			w = unauthorized{w}
		}
		next.ServeHTTP(w, r)
	})
}

type unauthorized struct{ http.ResponseWriter }

func (w unauthorized) WriteHeader(status int) {
	if status == http.StatusForbidden {
		status = http.StatusUnauthorized
	}
	w.ResponseWriter.WriteHeader(status)
}

// shortLived is the example's storage with access tokens that end after life, where the example's last five minutes.
type shortLived struct {
	*storage.Storage
	life time.Duration

	mu   sync.Mutex
	ends map[string]time.Time // by the id of the access token
}

func (s *shortLived) end(id string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[id] = time.Now().Add(s.life)
	return s.ends[id]
}

func (s *shortLived) CreateAccessToken(ctx context.Context, r op.TokenRequest) (string, time.Time, error) {
	id, _, err := s.Storage.CreateAccessToken(ctx, r)
	return id, s.end(id), err
}

func (s *shortLived) CreateAccessAndRefreshTokens(ctx context.Context, r op.TokenRequest, current string) (string,
	string, time.Time, error) {
	id, refresh, _, err := s.Storage.CreateAccessAndRefreshTokens(ctx, r, current)
	return id, refresh, s.end(id), err
}

func (s *shortLived) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, id, subject, origin string) error {
	s.mu.Lock()
	end := s.ends[id]
	s.mu.Unlock()
	if time.Now().After(end) {
		return oidc.ErrAccessDenied().WithDescription("the token has ended")
	}
	return s.Storage.SetUserinfoFromToken(ctx, info, id, subject, origin)
}
