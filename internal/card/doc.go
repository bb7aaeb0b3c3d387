// Package card draws small pictures with text for sharing, as SVG and as PNG.
//
// Text is converted to outlines, so that a picture looks the same everywhere and needs no installed fonts. The fonts
// are part of the program: Noto Sans for most scripts, Droid Sans Fallback for Chinese and Japanese, NanumSquare for
// Korean (see fonts/LICENCES.txt). Every script is shaped in its own way, Arabic from right to left. Characters that
// none of the fonts has, such as emoji, are left out; [Drawable] reports whether anything of a name remains.
//
// A Card must not be used by several goroutines at once. The fonts are shared, and safe for concurrent use.
package card
