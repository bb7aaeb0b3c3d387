package players

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
)

// Request is a request of a player, in whatever protocol.
type Request struct {
	*http.Request
	Path    string // below the player's own path or the root, without slashes around it, such as "1/submit-listens"
	Secret  string // from the player's own path; empty at the root
	Root    string // where the player's own path or the root is, as the player reaches it, without a slash at its end
	Address string // of the network connection
}

// Token returns the secret: that of the path, or else what follows the first word of the header Authorization, whatever
// that word is, as ListenBrainz reads it.
func (r *Request) Token() string {
	if r.Secret != "" {
		return r.Secret
	}
	header := strings.TrimSpace(r.Header.Get("Authorization"))
	if _, token, ok := strings.Cut(header, " "); ok {
		return strings.TrimSpace(token)
	}
	return header
}

// Line returns the method and the path, for people.
func (r *Request) Line() string { return r.Method + " /" + r.Path }

// ErrTooLarge says that a body is longer than the protocol allows.
var ErrTooLarge = errors.New("the body is too large")

// Read reads the body, of at most so many bytes.
func (r *Request) Read(most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, ErrTooLarge
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err == nil && int64(len(b)) > most {
		err = ErrTooLarge
	}
	return b, err
}

// units returns how much the body counts as, in byteUnit.
func (r *Request) units() int {
	size := r.ContentLength
	if size < 0 {
		size = unknownSize
	}
	return int(size / byteUnit)
}

// Trouble is what went wrong with a request, in the words that all protocols share. A player is never told that it
// called too often by a 429: Navidrome throws the play away then.
type Trouble struct {
	Status int           // 401, 400 or 503
	Text   string        // for programmers, in English as the protocols are
	Wait   time.Duration // before the next try; 0 for none
	Lost   bool          // the connection ended
}

// retryIn is when a request is worth another try that failed here.
const retryIn = time.Minute

// TroubleOf says what went wrong.
func TroubleOf(ctx context.Context, err error) Trouble {
	if ctx.Err() != nil {
		return Trouble{Status: http.StatusServiceUnavailable, Text: "The request was given up.", Lost: true}
	}
	if fast, ok := errors.AsType[*TooFastError](err); ok {
		return Trouble{http.StatusServiceUnavailable, "Too many requests. Try again later.", fast.Wait, false}
	}
	if refused, ok := errors.AsType[*Refused](err); ok {
		if refused.Why == Paused {
			return Trouble{http.StatusServiceUnavailable, "The player is paused in Reprise.", retryIn, false}
		}
		return Trouble{Status: http.StatusBadRequest, Text: refused.Text()}
	}
	switch {
	case errors.Is(err, ErrUnknown), errors.Is(err, library.ErrNotFound): // it was removed meanwhile
		return Trouble{Status: http.StatusUnauthorized, Text: "Invalid authorization token."}
	case errors.Is(err, ErrTooLarge):
		return Trouble{Status: http.StatusBadRequest, Text: "The body is too large."}
	}
	return Trouble{http.StatusServiceUnavailable, "Reprise cannot store anything at the moment. Try again later.",
		retryIn, false}
}

// Announce says in headers when to try again.
func (t Trouble) Announce(h http.Header) {
	if t.Wait > 0 {
		seconds := strconv.Itoa(int(math.Ceil(t.Wait.Seconds())))
		h.Set("Retry-After", seconds)
		h.Set("X-RateLimit-Reset-In", seconds)
	}
}

// Base returns the scheme and the host by which the player reaches us.
func (r *Request) Base() string {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
