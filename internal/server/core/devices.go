package core

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reprise/internal/accounts"
)

const (
	deviceCookie = "reprise_device"
	deviceLife   = 400 * 24 * time.Hour // browsers keep no cookie for longer
	maxMarks     = 4                    // people who share a browser
)

// A mark says that somebody has signed in to an account on this browser: the user's ID, when, and a random ID of the
// device, with a code that only this server can make. The key of the code is the hash of the password, so a mark ends
// with the password, and nothing about it is stored. It signs nobody in: it only gives the browser tries of its own.
func newMark(u accounts.User, now time.Time) string {
	facts := strconv.FormatInt(u.ID, 10) + "." + strconv.FormatInt(now.Unix(), 10) + "." + rand.Text()
	return facts + "." + markCode(u, facts)
}

func markCode(u accounts.User, facts string) string {
	mac := hmac.New(sha256.New, []byte(u.PasswordHash))
	mac.Write([]byte("device " + facts))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// isMark says whether a text is a mark of this server for a user that has not ended.
func isMark(mark string, u accounts.User, now time.Time) bool {
	end := strings.LastIndexByte(mark, '.')
	parts := strings.Split(mark, ".")
	if len(parts) != 4 || parts[0] != strconv.FormatInt(u.ID, 10) || len(u.PasswordHash) < 32 {
		return false
	}
	since, err := strconv.ParseInt(parts[1], 10, 64)
	age := now.Sub(time.Unix(since, 0))
	return err == nil && age >= 0 && age < deviceLife &&
		hmac.Equal([]byte(mark[end+1:]), []byte(markCode(u, mark[:end])))
}

// marks returns the marks of a request, of any user.
func (s *Sessions) marks(r *http.Request) []string {
	cookie, err := r.Cookie(s.cookies.Load().prefix + deviceCookie)
	if err != nil {
		return nil
	}
	return strings.SplitN(cookie.Value, "~", maxMarks+1)
}

// device returns the mark by which a browser is known to a user; empty if it is not.
func (s *Sessions) device(r *http.Request, u accounts.User) string {
	for _, mark := range s.marks(r) {
		if isMark(mark, u, time.Now()) {
			return mark
		}
	}
	return ""
}

// rememberDevice marks a browser as known to a user who has just signed in, and keeps the marks of others.
func (s *Sessions) rememberDevice(w http.ResponseWriter, r *http.Request, u accounts.User) {
	now := time.Now()
	all := []string{newMark(u, now)}
	for _, mark := range s.marks(r) {
		of, _, _ := strings.Cut(mark, ".")
		if len(all) < maxMarks && len(mark) < 200 && of != strconv.FormatInt(u.ID, 10) {
			all = append(all, mark)
		}
	}
	prefix := s.cookies.Load().prefix
	http.SetCookie(w, &http.Cookie{Name: prefix + deviceCookie, Value: strings.Join(all, "~"), Path: "/",
		MaxAge: int(deviceLife / time.Second), HttpOnly: true, Secure: prefix != "",
		SameSite: http.SameSiteStrictMode})
}
