//go:build !reprisetest

package demo

// pictureHeight is the height of a simulated picture in pixels.
const pictureHeight = 320
