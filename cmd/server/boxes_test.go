package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// layout is how a page looks on all screens. As text it has one line for each box of each screen, such as
//
//	section.card 2    16 320 640 180    #1d1c1a/#ffffff/#dcd9d2    #eceae6/#1f2225/#34383c
//
// below the box that it is in. These are its place there and its size, in pixels, and its ink, ground and line in the
// light and in the dark, as far as they are others than around it. Text has no width, and is below zero from the right.
type layout []screen

// within separates the name of a box from those inside it.
const within = " > "

type screen struct {
	width int64
	boxes []box
}

// box is something that is seen on a page, and where.
type box struct {
	Key        string
	X, Y, W, H float64
	Colours    string
	dark       string
}

// add adds what was seen: first in the light, then in the dark.
func (s *screen) add(boxes []box) {
	if s.boxes == nil {
		s.boxes = boxes
		return
	}
	for _, b := range boxes {
		i := slices.IndexFunc(s.boxes, func(light box) bool { return light.Key == b.Key })
		if i < 0 { // it is seen in the dark only
			b.Colours, b.dark = "-", b.Colours
			s.boxes = append(s.boxes, b)
			continue
		}
		s.boxes[i].dark = b.Colours
	}
}

func (l layout) String() string {
	var out strings.Builder
	for _, s := range l {
		fmt.Fprintf(&out, "screen %d\n", s.width)
		for _, b := range s.boxes {
			path := strings.Split(b.Key, within)
			line := fmt.Sprintf("%s%s\t%.0f %.0f %.0f %.0f\t%s\t%s", strings.Repeat("  ", len(path)-1),
				path[len(path)-1], b.X, b.Y, b.W, b.H, b.Colours, b.dark)
			out.WriteString(strings.TrimRight(line, "\t") + "\n")
		}
	}
	return out.String()
}

func readLayout(text string) (l layout, err error) {
	var path []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if width, ok := strings.CutPrefix(line, "screen "); ok {
			l = append(l, screen{})
			_, err = fmt.Sscan(width, &l[len(l)-1].width)
		} else {
			f := append(strings.Split(line, "\t"), "", "") // colours may be left out
			name := strings.TrimLeft(f[0], " ")
			depth := (len(f[0]) - len(name)) / 2
			if len(l) == 0 || len(f) < 4 || depth > len(path) {
				return nil, fmt.Errorf("no box: %q", line)
			}
			path = append(path[:depth], name)
			b := box{Key: strings.Join(path, within), Colours: f[2], dark: f[3]}
			_, err = fmt.Sscan(f[1], &b.X, &b.Y, &b.W, &b.H)
			l[len(l)-1].boxes = append(l[len(l)-1].boxes, b)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return l, nil
}

// differences says what a person would notice between how a page was and how it is.
func (l layout) differences(now layout) (all []string) {
	for i, s := range now {
		if i >= len(l) || l[i].width != s.width {
			return append(all, fmt.Sprintf("%d px: this screen is new", s.width))
		}
		was := map[string]box{}
		for _, b := range l[i].boxes {
			was[b.Key] = b
		}
		say := func(b box, format string, args ...any) {
			all = append(all, fmt.Sprintf("%d px: %s %s", s.width, b.Key, fmt.Sprintf(format, args...)))
		}
		for _, b := range s.boxes {
			before, ok := was[b.Key]
			delete(was, b.Key)
			if !ok {
				say(b, "is new")
				continue
			}
			for _, c := range []struct {
				what     string
				was, now float64
			}{{"moved from x", before.X, b.X}, {"moved from y", before.Y, b.Y},
				{"changed its width from", before.W, b.W}, {"changed its height from", before.H, b.H}} {
				if noticed(c.was, c.now) {
					say(b, "%s %.0f to %.0f", c.what, c.was, c.now)
				}
			}
			for _, c := range []struct{ look, was, now string }{{"light", before.Colours, b.Colours},
				{"dark", before.dark, b.dark}} {
				if !alike(c.was, c.now) {
					say(b, "changed its ink/ground/line in the %s from %q to %q", c.look, c.was, c.now)
				}
			}
		}
		for _, b := range l[i].boxes {
			if _, gone := was[b.Key]; gone {
				say(b, "is gone")
			}
		}
	}
	return all
}

// noticed reports whether a person notices that a length has changed.
func noticed(before, now float64) bool {
	return math.Abs(before-now) > max(8, 0.04*math.Abs(before))
}

// alike reports whether colours look the same to a person.
func alike(before, now string) bool {
	one, other := strings.Split(before, "/"), strings.Split(now, "/")
	if len(one) != len(other) {
		return false
	}
	for i := range one {
		var a, b [3]int
		n, _ := fmt.Sscanf(one[i], "#%02x%02x%02x", &a[0], &a[1], &a[2])
		m, _ := fmt.Sscanf(other[i], "#%02x%02x%02x", &b[0], &b[1], &b[2])
		if n != m {
			return false
		}
		for c := range a {
			if max(a[c]-b[c], b[c]-a[c]) > 12 {
				return false
			}
		}
	}
	return true
}
