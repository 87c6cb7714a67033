package sandbox

import (
	"math"

	"golang.org/x/sys/unix"
)

// SealDescriptors keeps every open descriptor above standard error from the
// programs that this process starts. Ours are sealed from the start; those that
// a launching shell left open, or that a library opened without care, are not,
// and a descriptor of a directory is a way out of every sandbox.
func SealDescriptors() {
	// Kernels before 5.11 do not know the flag; their descriptors stay as they are.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
