//go:build reprisetest

package demo

// pictureHeight is the height of a simulated picture in pixels. It is small in tests, which draw hundreds of them.
const pictureHeight = 80
