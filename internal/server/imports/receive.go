package imports

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
)

// sendWithin is how long a sender of a file may be silent.
const sendWithin = 30 * time.Second

// sending is the body of a request that may take as long as it makes progress.
type sending struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(sendWithin)) // where it cannot be set, there is none
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &core.Problem{Status: http.StatusBadRequest, Title: "Not sent whole",
			Detail: "The file did not arrive whole, and nothing was imported. Please send it once more."}
	}
	return n, err
}

// TakesFiles says whether a request may carry a whole file.
func TakesFiles(c echo.Context) bool {
	return c.Request().Method == http.MethodPost && (c.Path() == "/imports" || c.Path() == "/api/v1/imports")
}
