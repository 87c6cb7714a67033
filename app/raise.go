package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"

	"countersign/backend/client"
	"countersign/backend/host"
	"countersign/backend/protocol"
)

// RaiseWindow returns what asks the instance on a data directory to show its window, for Options.Raise. It speaks over
// the Unix socket there, as the command line does.
func RaiseWindow(home, version string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := client.Socket(ctx, filepath.Join(home, host.SocketName), client.Options{
			Name: "a second start", Version: version, Scopes: []protocol.Scope{protocol.ScopeRead},
		})
		var refused *net.OpError
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &refused) {
			return fmt.Errorf("%w: %w", ErrNobody, err)
		}
		if err != nil {
			return fmt.Errorf("reach the running instance: %w", err)
		}
		err = c.Call(ctx, protocol.MethodWindowShow, protocol.Empty{}, &protocol.OKResult{})
		// The answer counts; a line that does not close well is of no interest.
		_ = c.Close()
		if err != nil {
			return fmt.Errorf("raise the window: %w", err)
		}
		return nil
	}
}
