package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"

	"countersign/backend/gateway"
	"countersign/backend/host"
	"countersign/backend/protocol"
)

// RaiseWindow returns what asks the instance on a data directory to show its window, for Options.Raise. It speaks over
// the Unix socket there, as the command line does.
func RaiseWindow(home, version string) func(context.Context) error {
	return func(ctx context.Context) error {
		t, err := gateway.DialSocket(ctx, filepath.Join(home, host.SocketName))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNobody, err)
		}
		err = raiseOver(ctx, t, version)
		// The answer counts; a line that does not close well is of no interest.
		_ = t.Close(closeNormal, "")
		return err
	}
}

func raiseOver(ctx context.Context, t gateway.Transport, version string) error {
	connect := protocol.ConnectParams{
		MinProtocol: protocol.Version, MaxProtocol: protocol.Version,
		Client: protocol.ClientInfo{ID: "cli", Version: version, Platform: runtime.GOOS, Mode: "cli"},
		Scopes: []protocol.Scope{protocol.ScopeRead},
	}
	if err := call(ctx, t, protocol.MethodConnect, connect); err != nil {
		return err
	}
	return call(ctx, t, protocol.MethodWindowShow, protocol.Empty{})
}

// call sends one request and waits for its answer, passing over events.
func call(ctx context.Context, t gateway.Transport, m protocol.Method, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", m, err)
	}
	req := protocol.Request{Type: protocol.FrameReq, ID: string(m), Method: m, Params: raw}
	frame, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("encode %s: %w", m, err)
	}
	if err := t.Write(ctx, frame); err != nil {
		return fmt.Errorf("ask for %s: %w", m, err)
	}
	for {
		frame, err := t.Read(ctx)
		if err != nil {
			return fmt.Errorf("wait for %s: %w", m, err)
		}
		var res protocol.Response
		if err := json.Unmarshal(frame, &res); err != nil {
			return fmt.Errorf("read the answer to %s: %w", m, err)
		}
		switch {
		case res.Type != protocol.FrameRes || res.ID != req.ID:
		case res.OK:
			return nil
		case res.Error != nil:
			return fmt.Errorf("%s: %s", m, res.Error.Message)
		default:
			return fmt.Errorf("%s was refused", m)
		}
	}
}
