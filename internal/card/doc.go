// Package card draws small pictures with text to post: as SVG, and as PNG of the same drawing.
//
// Text becomes outlines, so that a picture looks the same everywhere and needs no font of its reader. The fonts are
// part of the program: Noto Sans for most scripts, Droid Sans Fallback for Chinese and Japanese, NanumSquare for Korean
// (see fonts/LICENCES.txt). Scripts are shaped and ordered as they are written, Arabic from right to left. What none of
// the fonts can draw, such as emoji, is left out; [Drawable] says whether anything of a name is left.
//
// A Card is drawn by one goroutine. The fonts are shared, and safe for concurrent use.
package card
