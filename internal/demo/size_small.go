//go:build reprisetest

package demo

// pictureHeight is the height of a simulated picture in pixels. In tests, hundreds of them are drawn that nobody sees.
const pictureHeight = 80
