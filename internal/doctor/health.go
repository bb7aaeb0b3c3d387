package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"reprise/internal/config"
)

// healthTimeout limits how long Health waits for an answer.
const healthTimeout = 5 * time.Second

// healthAnswer bounds what Health reads of an answer, in bytes. The server's own have a line.
const healthAnswer = 1 << 10

// Health asks the server that listens at an address of the settings whether it does its work, and writes one sentence
// to out. It returns ErrProblems unless the server is ready. wrong is what is wrong with the settings.
func Health(ctx context.Context, listen string, wrong error, out io.Writer) error {
	said, err := health(ctx, listen, wrong)
	fmt.Fprintln(out, said)
	return err
}

func health(ctx context.Context, listen string, wrong error) (string, error) {
	if wrong != nil {
		return fmt.Sprintf("The settings cannot be used:\n%v", wrong), ErrProblems
	}
	at := config.LoopbackFor(listen)
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", nil)
	if err != nil {
		return fmt.Sprintf("%s isn't an address. Correct the setting listen.", at), ErrProblems
	}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req) // without a proxy
	if err != nil {
		return fmt.Sprintf("Reprise does not answer at %s: %s", at, whyNot(at, err)), ErrProblems
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, healthAnswer))
	answer := strings.TrimSpace(string(body))
	switch {
	case resp.StatusCode == http.StatusOK && answer == "ok":
		return fmt.Sprintf("Reprise works at %s.", at), nil
	case resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Sprintf("Reprise at %s is not ready: %s.", at, strings.TrimSuffix(answer, ".")), ErrProblems
	}
	return fmt.Sprintf("Something answers at %s, but it isn't Reprise.", at), ErrProblems
}
