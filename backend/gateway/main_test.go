package gateway_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing")

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
