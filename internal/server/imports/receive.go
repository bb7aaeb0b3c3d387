package imports

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
	"reprise/internal/words"
)

// sendWithin is the longest pause while a file is sent.
const sendWithin = 30 * time.Second

// cutOff says that a file did not arrive to its end.
var cutOff = &core.Refusal{Status: http.StatusBadRequest, Title: words.New("problem.file.cut"),
	Detail: words.New("problem.file.cut_text")}

// sending is a request body without a deadline for the whole: it may take as long as it makes progress.
type sending struct {
	io.ReadCloser
	control *http.ResponseController
	before  int64 // bytes of a form that may come before its file; negative when the file has begun
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(sendWithin)) // an error means that there is no deadline
	if b.before == 0 {
		return 0, &core.Refusal{Status: http.StatusRequestEntityTooLarge, Title: words.New("problem.file.title"),
			Detail: words.New("problem.file.form")}
	}
	if b.before > 0 {
		p = p[:min(int64(len(p)), b.before)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.before > 0 {
		b.before -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = cutOff
	}
	return n, err
}

// TakesFiles says whether a request may carry a whole file.
func TakesFiles(c echo.Context) bool {
	return c.Request().Method == http.MethodPost && (c.Path() == "/imports" || c.Path() == "/api/v1/imports")
}
