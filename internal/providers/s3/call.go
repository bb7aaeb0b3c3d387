package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"reprise/internal/resilience"
)

// The endpoints: method and route template.
const (
	endpointHead   = "HEAD /{bucket}/{key}"
	endpointGet    = "GET /{bucket}/{key}"
	endpointPut    = "PUT /{bucket}/{key}"
	endpointDelete = "DELETE /{bucket}/{key}"
)

// answer is what the storage says to a call that succeeds.
type answer struct {
	header http.Header
	body   []byte
}

// ask makes one request.
func (a *adapter) ask(ctx context.Context, endpoint, key string, body []byte, header http.Header) (*answer, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	method, _, _ := strings.Cut(endpoint, " ")
	req, err := a.request(ctx, method, key, body, header)
	if err != nil {
		return nil, badAddress(adviceAddress)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	call := a.call
	if method == http.MethodDelete && call.Eager || a.mayRepeat(method, body) {
		call.Effect = resilience.Read
	}
	to := resilience.Endpoint{Name: endpoint, XML: true}
	resp, err := call.Transport(to).RoundTrip(req)
	if err != nil {
		return nil, a.explain(err, nil)
	}
	defer resp.Body.Close()
	got := &answer{header: resp.Header}
	got.body, err = io.ReadAll(resp.Body) // limited by the transport
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &resilience.NetworkError{Endpoint: endpoint, Err: fmt.Errorf("read answer: %w", err)}
	case !resilience.Succeeded(resp.StatusCode): // a redirect, which the transport passes on because others follow it
		e := call.Redirected(to, resp)
		e.Body = got.body
		return nil, a.explain(e, resp.Header)
	}
	return got, nil
}

// explain reads the server's code and message from its answer, which is an AnswerError. header is that of a redirect.
func (a *adapter) explain(err error, header http.Header) error {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	if !ok {
		return err
	}
	var refusal struct {
		XMLName xml.Name `xml:"Error"`
		Code    string   `xml:"Code"`
		Message string   `xml:"Message"`
		Region  string   `xml:"Region"`
	}
	words := xml.NewDecoder(bytes.NewReader(e.Body))
	words.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // is UTF-8 by now
	if !e.HTML && words.Decode(&refusal) == nil {
		e.Code, e.Message = resilience.Excerpt(refusal.Code), resilience.Excerpt(a.redact(refusal.Message))
	}
	a.told, a.moved = firstOf(refusal.Region, e.Header.Get(regionHeader), header.Get(regionHeader)), e.MovedTo
	return table.Apply(e)
}

const regionHeader = "X-Amz-Bucket-Region"

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// found is what a storage says of an object.
type found struct {
	etag string
	sum  string // our own checksum; empty where the storage drops metadata
	size int64
}

// head returns what the storage says of an object, or nil when there is none.
func (a *adapter) head(ctx context.Context, key string) (*found, error) {
	got, err := a.ask(ctx, endpointHead, key, nil, nil)
	switch {
	case notThere(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	size, err := strconv.ParseInt(got.header.Get("Content-Length"), 10, 64)
	if _, wrong := http.ParseTime(got.header.Get("Last-Modified")); err != nil || wrong != nil {
		return nil, &resilience.ContractError{Endpoint: endpointHead, What: "not what S3 answers"}
	}
	return &found{etag: etagOf(got), sum: got.header.Get(metaSum), size: size}, nil
}

func etagOf(got *answer) string { return strings.Trim(got.header.Get("Etag"), `"`) }

// put writes an object in one request with two checksums, which the server verifies, and returns the ETag. conditions
// are the headers that say when to write it.
func (a *adapter) put(ctx context.Context, o object, conditions http.Header) (etag string, err error) {
	header := http.Header{"Content-Type": {o.contentType}, "Content-Md5": {o.md5Base64()}, metaSum: {o.sha256Hex()}}
	maps.Copy(header, conditions)
	got, err := a.ask(ctx, endpointPut, o.key, o.body, header)
	if err != nil {
		return "", err
	}
	return etagOf(got), nil
}

func (a *adapter) get(ctx context.Context, key string) ([]byte, error) {
	got, err := a.ask(ctx, endpointGet, key, nil, nil)
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

func (a *adapter) remove(ctx context.Context, key string) error {
	_, err := a.ask(ctx, endpointDelete, key, nil, nil)
	return err
}
