package weekly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"reprise/internal/art"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// letter is the report as a mail.
type letter struct {
	Said
	Title        string
	Language     string
	URL, StopURL string
}

// text returns the mail for programs that show no HTML.
func (l letter) text(ctx context.Context) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	if l.SoFar != "" {
		line(l.SoFar)
	}
	for _, lead := range l.Lead {
		line(lead)
	}
	line("\n", words.T(ctx, "week.days"))
	for _, d := range l.Days {
		line(d.Name, words.T(ctx, "ui.colon"), d.Said)
	}
	for _, list := range l.Lists {
		line("\n", list.Title)
		for i, r := range list.Rows {
			said := r.Said
			if r.Note != "" {
				said += ", " + r.Note
			}
			line(strconv.Itoa(i+1), ". ", words.Isolate(by(ctx, r)), ", ", said)
		}
	}
	if len(l.Loved) > 0 {
		line("\n", words.T(ctx, "week.loved"))
		for _, said := range l.Loved {
			line("♥ ", words.Isolate(said))
		}
		if l.More != "" {
			line(l.More)
		}
	}
	line("\n", words.T(ctx, "week.mail.open"), words.T(ctx, "ui.colon"), l.URL)
	line("\n", words.T(ctx, "week.mail.why"))
	b.WriteString(words.T(ctx, "week.mail.stop") + words.T(ctx, "ui.colon") + l.StopURL)
	return b.String()
}

// html returns the mail as HTML that mail programs show well and that loads nothing.
func (l letter) html(ctx context.Context) (string, error) {
	var b bytes.Buffer
	err := page(l).Render(ctx, &b)
	return b.String(), err
}

// The styles of the mail. Most mail programs only read styles at the element. Those for dark mode are in page.
const (
	family = "text-align:left;font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
	ink    = "color:#1e2022"
	soft   = "color:#5d6166"

	sheetStyle  templ.SafeCSS = "padding:28px 24px;" + family
	footStyle   templ.SafeCSS = "padding:16px 24px;font-size:13px;line-height:20px;" + soft + ";" + family
	buttonStyle templ.SafeCSS = "display:inline-block;padding:10px 18px;border-radius:8px;" +
		"background:#0b6354;color:#ffffff;font-size:16px;line-height:24px;text-decoration:none"
	barStyle     templ.SafeCSS = "height:12px;line-height:12px;font-size:1px;background:#0b6354;border-radius:3px"
	numberStyle  templ.SafeCSS = cellStyle + "padding-left:12px;white-space:nowrap;" + softStyle
	cellStyle    templ.SafeCSS = "padding:6px 0;border-bottom:1px solid #ece9e4;"
	softStyle    templ.SafeCSS = "font-size:14px;line-height:20px;" + soft
	lineStyle    templ.SafeCSS = "margin:0 0 4px;font-size:16px;line-height:24px;" + ink
	firstStyle   templ.SafeCSS = "margin:0 0 4px;font-size:17px;line-height:26px;font-weight:bold;" + ink
	noteStyle    templ.SafeCSS = "margin:0 0 8px;font-size:14px;line-height:20px;" + soft
	noCoverStyle templ.SafeCSS = "height:48px;border-radius:6px;background:#ece9e4;font-size:20px;" + soft
	coverStyle   templ.SafeCSS = "display:block;width:48px;height:48px;border:0;border-radius:6px"
	nameStyle    templ.SafeCSS = "font-size:16px;line-height:22px;font-weight:bold;" + ink
	frameStyle   templ.SafeCSS = "max-width:560px;background:#ffffff;border:1px solid #dfdcd6;border-radius:12px"
	headingStyle templ.SafeCSS = "margin:28px 0 8px;font-size:18px;line-height:24px;" + ink
)

// coverSide is the side of a picture in a mail, in pixels. It is twice the size on the screen, for dense displays.
const coverSide = 96

// pictures returns the pictures of lists, and sets the Picture of each row to the ID of its picture; empty for none.
func (r *Reports) pictures(ctx context.Context, lists []List) (all []notify.Picture, err error) {
	var tracks []library.Track
	for _, list := range lists {
		for _, row := range list.Rows {
			tracks = append(tracks, row.Entity.Pictured())
		}
	}
	links, err := r.opt.Store.Links(ctx, tracks)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // by file
	for _, list := range lists {
		for i := range list.Rows {
			file := links[0].Picture
			links = links[1:]
			if _, known := names[file]; !known && file != "" {
				small, err := r.cover(ctx, file)
				if err != nil {
					return nil, err
				}
				if names[file] = ""; small != nil {
					p := notify.Picture{Name: fmt.Sprintf("cover-%d.jpg", len(all)+1), Type: "image/jpeg", Data: small}
					names[file], all = p.ID(), append(all, p)
				}
			}
			list.Rows[i].Picture = names[file]
		}
	}
	return all, nil
}

// cover returns a picture in the size of a mail; nil if it is gone or broken.
func (r *Reports) cover(ctx context.Context, file string) ([]byte, error) {
	b, _, err := r.opt.Pictures.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		if b, err = r.opt.Store.ChosenPicture(ctx, file); errors.Is(err, library.ErrNotFound) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	small, err := art.Square(b, coverSide)
	if errors.Is(err, art.ErrNoPicture) || errors.Is(err, art.ErrTooLarge) {
		return nil, nil
	}
	return small, err
}
