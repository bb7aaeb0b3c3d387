package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// msidForm matches the ids of recordings.
var msidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// delete deletes a listen. The real service does so within the hour, and answers the same about one that it doesn't
// have.
func (lb *listenBrainz) delete(w http.ResponseWriter, r *http.Request) {
	account, ok := lb.writer(w, r)
	if !ok {
		return
	}
	var body struct {
		At   any    `json:"listened_at"`
		MSID string `json:"recording_msid"`
	}
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		lbError(w, http.StatusBadRequest, "Cannot parse JSON document: "+err.Error())
		return
	}
	at := int64(-1)
	switch v := body.At.(type) {
	case float64:
		at = int64(v)
	case string:
		if at, err = strconv.ParseInt(v, 10, 64); err != nil {
			at = -1
		}
	}
	switch {
	case body.At == nil:
		lbError(w, http.StatusBadRequest, "Listen timestamp missing.")
	case at < 0:
		lbError(w, http.StatusBadRequest, "Listen timestamp invalid.")
	case body.MSID == "":
		lbError(w, http.StatusBadRequest, "Recording MSID missing.")
	case !msidForm.MatchString(body.MSID):
		lbError(w, http.StatusBadRequest, body.MSID+": Recording MSID format invalid.")
	default:
		lb.remove(account, at, body.MSID)
		writeJSON(w, http.StatusOK, object{"status": "ok"})
	}
}

// writer returns whose history a call may change, or answers that it may not.
func (lb *listenBrainz) writer(w http.ResponseWriter, r *http.Request) (account string, ok bool) {
	if lbToken(r) == "" {
		lbError(w, http.StatusUnauthorized, "You need to provide an Authorization header.")
		return "", false
	}
	account, valid := lb.owner(lbToken(r))
	if !valid {
		lbError(w, http.StatusUnauthorized, "Invalid authorization token.")
		return "", false
	}
	if mode, _ := lb.current(); mode == ReadOnly { // not 401: that would be about the token, and end reading too
		lbError(w, http.StatusForbidden, "You are not allowed to submit listens.")
		return "", false
	}
	return account, true
}

// remove deletes the listens of a recording in a second.
func (lb *listenBrainz) remove(account string, seconds int64, msid string) {
	gone := Play{Account: account, At: time.Unix(seconds, 0)}
	lb.home.mu.Lock()
	p := lb.home.people[account]
	p.listens = slices.DeleteFunc(slices.Clone(p.listens), func(l play) bool {
		m := &lb.home.metas[l.track]
		if l.seconds() != seconds || m.msid != msid {
			return false
		}
		gone.Artist, gone.Title, _ = strings.Cut(m.compare, "\x00")
		return true
	})
	lb.home.mu.Unlock()
	lb.mu.Lock()
	defer lb.mu.Unlock()
	lb.deleted = append(lb.deleted, gone)
}
