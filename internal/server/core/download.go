package core

import (
	"bufio"
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Download answers with a file that is written as it is read, so that its size does not matter. When the database fails
// before there is anything to send, that is the answer; when it fails later, the answer breaks off, and no program
// takes it for complete. A client that goes away ends it.
func (k *Core) Download(c echo.Context, kind, file string, write func(io.Writer) error) error {
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, kind)
	w.Header().Set(echo.HeaderContentDisposition,
		mime.FormatMediaType("attachment", map[string]string{"filename": file}))
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriterSize(w, 4<<10) // a small answer is whole before its first byte is sent
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		if !w.Committed { // an empty file
			w.WriteHeader(http.StatusOK)
		}
		return nil
	case !w.Committed:
		w.Header().Del(echo.HeaderContentDisposition)
		return err
	case c.Request().Context().Err() == nil:
		k.Log.Error("an export broke off", "user_id", UserOf(c).ID, "path", c.Path(), "err", err)
	}
	panic(http.ErrAbortHandler)
}
