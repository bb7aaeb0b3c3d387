package comparing

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
)

// patience is how long the server of a link may take for an answer. A person waits for it.
const patience = 10 * time.Second

// Client reads the documents of links. It is safe for concurrent use.
type Client struct {
	HTTP *http.Client // on a transport.Transport that refuses large answers
	// Screen hides from a member what is at an address; nil hides nothing.
	Screen *hosts.Screen
}

// Read reads the document of a link for a person. Its error is a [Problem] where the link can't be used, wrapped with a
// *resilience.SettingError if this server doesn't call that address, or that of the context.
func (c *Client) Read(ctx context.Context, user int64, l Link) (d Document, err error) {
	call := resilience.Call{Client: c.HTTP, User: user, Provider: "reprise", Effect: resilience.Read, Proof: true,
		Typed: true, Patience: patience}
	var body []byte
	var signed bool
	err = c.Screen.Try(ctx, call, l.Base.Host, func(ctx context.Context) error {
		body, signed, err = fetch(ctx, call, l)
		return err
	})
	if err != nil {
		return d, problemOf(ctx, err)
	}
	if !signed {
		return d, Forged
	}
	return read(body)
}

// fetch asks for the document of a link, and reports whether the answer is signed with the key of the link.
func fetch(ctx context.Context, call resilience.Call, l Link) (body []byte, signed bool, err error) {
	to := resilience.Endpoint{Name: "GET " + Path + "{code}", Reader: resilience.Reader{Explain: explain}}
	nonce := rand.Text()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.Base.String()+Path+l.Code+"?nonce="+nonce, nil)
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Accept", "application/json")
	answer, err := call.Send(req, to)
	if err != nil {
		return nil, false, err
	}
	signature := answer.Header.Get(Signature)
	if signature == "" || !json.Valid(answer.Body) {
		return nil, false, &resilience.ContractError{Endpoint: to.Name, What: "no signed document"}
	}
	return answer.Body, hmac.Equal([]byte(signature), []byte(Sign(l.Key, nonce, answer.Body))), nil
}

// Refusal is what the server of a link answers that has nothing to show.
type Refusal struct {
	Problem Problem `json:"problem"`
}

// explain notes what a refusal says.
func explain(e *resilience.AnswerError) {
	var r Refusal
	if e.Status == http.StatusGone && json.Unmarshal(e.Body, &r) == nil && r.Problem.Ended() {
		e.Code, e.Message = string(r.Problem), "the link has ended"
	}
}

// problemOf returns the problem of a link whose document could not be read.
func problemOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		switch {
		case Problem(e.Code).Ended():
			return Problem(e.Code)
		case e.Busy():
			return Away
		case e.MovedTo != "":
			return Moved
		}
		return Old
	}
	if _, ok := errors.AsType[*resilience.ContractError](err); ok {
		return Old
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return errors.Join(Refused, e)
	}
	return Away
}
