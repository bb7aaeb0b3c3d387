package demo

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// errCut is the error of a connection that breaks.
var errCut = errors.New("connection reset by peer")

// realHosts are those of the services themselves, for which a World answers, too.
var realHosts = map[string][]string{
	Spotify:      {"api.spotify.com", "accounts.spotify.com"},
	LastFM:       {"ws.audioscrobbler.com"},
	ListenBrainz: {"api.listenbrainz.org"},
	YouTube:      {"www.googleapis.com", "oauth2.googleapis.com"},
}

// RoundTrip implements http.RoundTripper: it answers the requests to the upstreams of a World that was started with
// [Options.InProcess]. A request to any other host fails as one to a host that does not exist.
func (w *World) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	g := w.hosts[req.URL.Host]
	w.mu.Unlock()
	if g == nil {
		return nil, errors.New("no such host")
	}
	in := req.Clone(req.Context())
	in.Host, in.RequestURI, in.RemoteAddr = req.URL.Host, req.URL.RequestURI(), "127.0.0.1:1"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	out := &answer{}
	defer func() {
		if r := recover(); r == http.ErrAbortHandler {
			resp, err = nil, errCut
			if ctxErr := req.Context().Err(); ctxErr != nil {
				err = ctxErr
			}
		} else if r != nil {
			panic(r)
		}
	}()
	call, err := g.receive(out, in)
	if err != nil {
		return nil, err
	}
	if resp, err := g.fail(call, in); resp != nil || err != nil {
		return resp, err
	}
	g.answer(call, out, in)
	if out.status == 0 {
		out.status = http.StatusOK
	}
	if out.Header().Get("Content-Type") == "" {
		out.Header().Set("Content-Type", http.DetectContentType(out.body.Bytes()))
	}
	return &http.Response{
		StatusCode:    out.status,
		Status:        http.StatusText(out.status),
		Header:        out.Header(),
		Body:          io.NopCloser(bytes.NewReader(out.body.Bytes())),
		ContentLength: int64(out.body.Len()),
		Request:       req,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
	}, nil
}
