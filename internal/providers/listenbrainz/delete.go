package listenbrainz

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const deleteRoute = "/1/delete-listen"

// deleteTable is table for deleting a listen.
var deleteTable = append(table[:len(table):len(table)],
	providers.Row{Status: http.StatusBadRequest, Meaning: onItem(words.New("listenbrainz.unknown", service...))},
	providers.Row{Status: http.StatusNotFound, Meaning: ourMistake},
	providers.Row{Status: http.StatusGone, Meaning: ourMistake},
	providers.Row{Status: http.StatusUnprocessableEntity, Meaning: ourMistake},
)

// DeleteListen implements providers.ListenDeleter. ListenBrainz deletes listens once an hour, and answers the same
// about one that it doesn't have.
func (a *adapter) DeleteListen(ctx context.Context, sourceID string) error {
	seconds, msid, _ := strings.Cut(sourceID, ":")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || !mbidForm.MatchString(msid) { // it came from a file, or from a server without ids
		return a.refusal(deleteRoute, "a listen without an id", words.New("listenbrainz.unknown", service...))
	}
	body, err := json.Marshal(struct {
		At   int64  `json:"listened_at"`
		MSID string `json:"recording_msid"`
	}{at, msid})
	if err != nil {
		return err
	}
	if err = a.change(ctx, deleteRoute, deleteRoute, body, deleteTable); err == nil {
		return nil
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Code == notFound {
		return nil
	}
	if a.server.own && lacking(offered(err)) { // nothing else is wrong with a server that lacks only this
		return a.refusal(deleteRoute, err.Error(), words.New("listenbrainz.no_deleting", service...))
	}
	return err
}

// change sends a change, which is answered with a status only.
func (a *adapter) change(ctx context.Context, route, path string, body []byte, t providers.Table) error {
	answer, err := a.send(ctx, http.MethodPost, route, path, body, t)
	if err != nil {
		return err
	}
	var done struct {
		Status string `json:"status"`
	}
	if err := providers.DecodeJSON(answer, &done); err != nil {
		return err
	}
	if done.Status != "ok" {
		return &resilience.ContractError{Endpoint: answer.Endpoint, What: "a status that is not ok"}
	}
	return nil
}

// refusal returns the error of a call that isn't made because the server can't take its item.
func (a *adapter) refusal(route, message string, advice words.Text) error {
	m := onItem(a.server.named(advice))
	return &resilience.AnswerError{Endpoint: http.MethodPost + " " + route, Status: http.StatusBadRequest,
		Message: resilience.Excerpt(message), Meaning: &m}
}
