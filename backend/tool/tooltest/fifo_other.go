//go:build !unix

package tooltest

import "errors"

func makeFifo(string) error { return errors.ErrUnsupported }
