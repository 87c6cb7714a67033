//go:build keep

package main

import (
	_ "fyne.io/systray"
	_ "github.com/adrg/xdg"
	_ "github.com/anthropics/anthropic-sdk-go/v2"
	_ "github.com/godbus/dbus/v5"
	_ "github.com/gofrs/flock"
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/google/uuid"
	_ "github.com/gorilla/websocket"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/tailscale/hujson"
	_ "github.com/wailsapp/wails/v2"
	_ "github.com/wailsapp/wails/v2/pkg/options"
	_ "github.com/zalando/go-keyring"
	_ "go.uber.org/goleak"
	_ "golang.org/x/crypto/argon2"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
)
