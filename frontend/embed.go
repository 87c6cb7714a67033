// Package frontend carries the built web page inside the programs that serve it.
//
// It owns nothing but the embedded files. It promises that Dist is safe for concurrent use and never changes while
// the program runs. It refuses to build the page: until `npm run build` has run, Dist is empty but for a marker file,
// and whoever serves it says so.
package frontend

import (
	"embed"
	"io/fs"
)

// The all: prefix keeps the marker file, without which the directive would not compile in a fresh checkout.
//
//go:embed all:dist
var files embed.FS

// Dist returns the built page with index.html at its root. It is safe for concurrent use.
func Dist() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		// Sub fails only for an invalid path, and this one is a constant.
		panic("frontend: embedded folder: " + err.Error())
	}
	return dist
}
