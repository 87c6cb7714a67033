//go:build !linux

package sandbox

// SealDescriptors does nothing here: Windows names the handles that a child
// inherits. On macOS a descriptor that a launching shell left open reaches the
// command; sandbox-exec still judges each opening of a path.
func SealDescriptors() {}
