package core

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

// Stream answers with JSON that has a list between begin and end. read returns the next elements of the list, of which
// offset have been read before; none at its end. They are written as they are read, so that a long list needs no more
// memory than a short one. When the database fails in the middle the answer breaks off, and nobody takes it for whole.
func (k *Core) Stream(c echo.Context, begin, end string, read func(offset int) ([]any, error)) error {
	part, err := read(0)
	if err != nil {
		return err
	}
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriter(w)
	_, err = out.WriteString(begin)
	for n := 0; len(part) > 0 && err == nil; {
		for _, one := range part {
			text, e := json.Marshal(one)
			if err = e; err != nil {
				break
			}
			if n > 0 {
				_ = out.WriteByte(',')
			}
			n++
			_, err = out.Write(text)
		}
		if err == nil {
			part, err = read(n)
		}
	}
	if err == nil {
		_, err = out.WriteString(end + "\n")
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		return nil
	}
	if c.Request().Context().Err() == nil {
		k.Log.Error("an answer broke off", "path", c.Path(), "err", err)
	}
	panic(http.ErrAbortHandler)
}

// Pager leads through a list that is too long for one page.
type Pager struct {
	Page, Pages int    // from 1 on
	Before      string // address of the page before; empty on the first
	After       string // address of the page after; empty on the last
	size        int
}

// Offset returns how many elements the pages before have.
func (p Pager) Offset() int { return (p.Page - 1) * p.size }

// PagerOf returns where a request is in a list of total elements, of which a page has size.
func PagerOf(c echo.Context, total, size int) (Pager, error) {
	p := Pager{Page: 1, Pages: max(1, (total+size-1)/size), size: size}
	if text := c.QueryParam("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > p.Pages {
			return p, NotFound(words.New("problem.not_found.number"))
		}
		p.Page = n
	}
	at := c.Request().URL.Path + "?page="
	if p.Page > 1 {
		p.Before = at + strconv.Itoa(p.Page-1)
	}
	if p.Page < p.Pages {
		p.After = at + strconv.Itoa(p.Page+1)
	}
	return p, nil
}
