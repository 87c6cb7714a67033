//go:build !unix

package workspace

// noWait has no meaning where opening a file never waits for a writer.
const noWait = 0
