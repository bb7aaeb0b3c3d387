package core

import (
	"bufio"
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Download answers with a file that write writes piece by piece, so it may be of any size. An error before the first
// bytes are sent becomes the answer. A later error breaks the connection off, so that no program takes the file for
// complete.
func (k *Core) Download(c echo.Context, kind, file string, write func(io.Writer) error) error {
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, kind)
	w.Header().Set(echo.HeaderContentDisposition,
		mime.FormatMediaType("attachment", map[string]string{"filename": file}))
	out := bufio.NewWriterSize(w, 4<<10) // a small file is complete before its first byte is sent
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
