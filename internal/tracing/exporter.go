package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// exporter sends by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/). OpenTelemetry's libraries do that, too,
// but bring gRPC and the names of all conventions with them: two megabytes, and work for each start.
type exporter struct {
	client     *http.Client
	url        string
	headers    http.Header
	gzip, json bool
}

// A collector that is busy is asked again: after firstPause, then ever later up to longestPause, for giveUp in all.
const (
	firstPause   = 5 * time.Second
	longestPause = 30 * time.Second
	giveUp       = time.Minute
)

// maxAnswer limits what is read of a collector's answer, in bytes.
const maxAnswer = 64 << 10

// export sends an ExportTraceServiceRequest.
func (e *exporter) export(ctx context.Context, request message) error {
	body, err := e.body(request)
	if err != nil {
		return err
	}
	began := time.Now()
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		after, err := e.send(ctx, body)
		if after < 0 {
			return err
		}
		wait := max(after, pause/2+rand.N(pause))
		if time.Since(began)+wait > giveUp {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (e *exporter) body(m message) ([]byte, error) {
	body := m.appendTo(nil)
	if e.json {
		var err error
		if body, err = json.Marshal(m); err != nil {
			return nil, err
		}
	}
	if !e.gzip {
		return body, nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body) // a buffer takes everything
	err := w.Close()
	return packed.Bytes(), err
}

// send makes one call. again is how long the collector wants to be left alone before it is asked again, or negative
// if it must not be.
func (e *exporter) send(ctx context.Context, body []byte) (again time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header = e.headers.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	if e.json {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return -1, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return -1, e.taken(answer, err)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = pauseOf(resp.Header.Get("Retry-After"))
	default:
		again = -1
	}
	return again, fmt.Errorf("the collector answers %s: %s", resp.Status, bytes.TrimSpace(answer))
}

// pauseOf reads a header Retry-After: seconds or a date.
func pauseOf(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(giveUp/time.Second)+1)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// taken returns an error if a collector's answer says that it has not taken all spans.
func (e *exporter) taken(answer []byte, err error) error {
	if err != nil {
		return err
	}
	n, why := rejected(answer)
	if e.json {
		var told struct {
			PartialSuccess struct {
				RejectedSpans json.Number `json:"rejectedSpans"`
				ErrorMessage  string      `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		_ = json.Unmarshal(answer, &told) // an answer without sense is one without complaints
		n, _ = told.PartialSuccess.RejectedSpans.Int64()
		why = told.PartialSuccess.ErrorMessage
	}
	if n == 0 && why == "" {
		return nil
	}
	return fmt.Errorf("the collector has not taken %d spans: %s", n, why)
}
