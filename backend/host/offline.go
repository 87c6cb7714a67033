package host

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"os"

	"countersign/backend/config"
	"countersign/backend/gateway"
	"countersign/backend/protocol"
	"countersign/backend/secret"
)

// Vault opens the secrets of a data directory, for programs that run beside the
// host.
func Vault(dir string, log *slog.Logger) *secret.Vault {
	return secret.Open(secret.Options{Service: serviceName, Namespace: namespace(dir), Dir: dir, Logger: log})
}

// DeviceID is the identity of a device's key.
func DeviceID(key ed25519.PrivateKey) protocol.DeviceID {
	return gateway.DeviceID(key.Public().(ed25519.PublicKey))
}

// Models answers a models.* call on a data directory that no host has open.
func Models(ctx context.Context, dir string, log *slog.Logger, m protocol.Method, params any) (any, error) {
	file, _, err := config.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	ms := &models{config: file, vault: Vault(dir, log), environ: os.Environ()}
	switch p := params.(type) {
	case protocol.ModelsListParams:
		return ms.list(ctx, gateway.Caller{}, p)
	case protocol.ModelsAddParams:
		return ms.add(ctx, gateway.Caller{}, p)
	case protocol.ModelsRemoveParams:
		return ms.remove(ctx, gateway.Caller{}, p)
	}
	return nil, fmt.Errorf("%s needs a running host", m)
}
