package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"reprise/internal/resilience"
)

// The endpoints: method and route template.
const (
	endpointHead   = "HEAD /{bucket}/{key}"
	endpointGet    = "GET /{bucket}/{key}"
	endpointPut    = "PUT /{bucket}/{key}"
	endpointDelete = "DELETE /{bucket}/{key}"
)

// attempt is one call of the library, which is one request. The library replaces typed errors of the transport by
// texts with the URL in them, so attempt keeps the original error.
type attempt struct {
	endpoint string
	end      context.CancelFunc
	err      error
	region   string // named in the answer
	location string // redirect target of the answer
}

type attemptKey struct{}

// wire is the transport of the library.
type wire struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	try := req.Context().Value(attemptKey{}).(*attempt)
	req, err := mayRepeat(req)
	if err != nil {
		return nil, err
	}
	resp, err := w.next.RoundTrip(req)
	if err == nil && !resilience.Succeeded(resp.StatusCode) {
		try.region, try.location = resp.Header.Get(regionHeader), resp.Header.Get("Location")
		err = sentOn(try.endpoint, resp)
	}
	if err == nil {
		return resp, nil
	}
	try.err = err
	try.end() // stops the library, which would wait before it returns
	return nil, err
}

// mayRepeat makes the writing and the removal of an object repeatable while a person waits: the same object twice is
// one object, what is gone stays gone, and the small object of the trial fits into memory.
func mayRepeat(req *http.Request) (*http.Request, error) {
	if req.Method == http.MethodDelete && resilience.IsProbe(req.Context()) {
		return req.WithContext(resilience.AsRead(req.Context())), nil
	}
	if req.Method != http.MethodPut || req.Body == nil || req.GetBody != nil || !resilience.IsProbe(req.Context()) ||
		req.ContentLength > maxRepeated {
		return req, nil
	}
	defer req.Body.Close()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.WithContext(resilience.AsRead(req.Context()))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, err = req.GetBody()
	return req, err
}

// maxRepeated is the size, in bytes, of the largest object whose writing may be repeated inside one call.
const maxRepeated = 64 << 10

// sentOn returns the error of a redirect, which the transport passes on because other clients follow it.
func sentOn(endpoint string, resp *http.Response) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body) // limited by the transport
	if err != nil {
		return &resilience.NetworkError{Endpoint: endpoint, Err: fmt.Errorf("read answer: %w", err)}
	}
	return &resilience.AnswerError{Endpoint: endpoint, Status: resp.StatusCode,
		Message: "redirects to another address", Body: body}
}

// do lets the library make one request and returns its original error.
func (a *adapter) do(ctx context.Context, endpoint string, run func(context.Context) error) error {
	inner, end := context.WithCancel(resilience.WithXML(resilience.WithEndpoint(ctx, endpoint)))
	defer end()
	try := &attempt{endpoint: endpoint, end: end}
	err := run(context.WithValue(inner, attemptKey{}, try))
	switch {
	case try.err != nil:
		return a.explain(try)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &resilience.ContractError{Endpoint: endpoint, What: "not what S3 answers"}
}

// explain reads the server's code and message from its answer.
func (a *adapter) explain(try *attempt) error {
	e, ok := errors.AsType[*resilience.AnswerError](try.err)
	if !ok {
		return try.err
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
	a.told, a.moved = firstOf(refusal.Region, e.Header(regionHeader), try.region), ""
	if u, err := url.Parse(try.location); err == nil && u.Host != "" {
		a.moved = u.Scheme + "://" + u.Host
	}
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

// head returns the metadata of an object, or nil when there is none.
func (a *adapter) head(ctx context.Context, key string) (*minio.ObjectInfo, error) {
	var found minio.ObjectInfo
	err := a.do(ctx, endpointHead, func(ctx context.Context) (err error) {
		found, err = a.library.StatObject(ctx, a.bucket, key, minio.StatObjectOptions{})
		return err
	})
	switch {
	case notThere(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &found, nil
}

// put writes an object in one request with two checksums, which the server verifies, and returns the ETag.
func (a *adapter) put(ctx context.Context, o object, opts minio.PutObjectOptions) (etag string, err error) {
	opts.ContentType = o.contentType
	opts.UserMetadata = map[string]string{metaSum: o.sha256Hex()}
	// one checksum for the whole body, not per part of a stream
	opts.DisableContentSha256 = true
	err = a.do(ctx, endpointPut, func(ctx context.Context) error {
		info, err := a.library.PutObject(ctx, a.bucket, o.key, bytes.NewReader(o.body), int64(len(o.body)),
			o.md5Base64(), o.sha256Hex(), opts)
		etag = info.ETag
		return err
	})
	return etag, err
}

func (a *adapter) get(ctx context.Context, key string) (body []byte, err error) {
	err = a.do(ctx, endpointGet, func(ctx context.Context) error {
		r, _, _, err := a.library.GetObject(ctx, a.bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer r.Close()
		body, err = io.ReadAll(r)
		return err
	})
	return body, err
}

func (a *adapter) remove(ctx context.Context, key string) error {
	err := a.do(ctx, endpointDelete, func(ctx context.Context) error {
		return a.library.RemoveObject(ctx, a.bucket, key, minio.RemoveObjectOptions{})
	})
	if _, ok := errors.AsType[*resilience.ContractError](err); ok {
		return nil // servers differ in the status of success
	}
	return err
}
