package secret

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	secretservice "github.com/zalando/go-keyring/secret_service"
)

// reachable says whether a session bus exists. Without this check the D-Bus
// library would start a bus of its own at each call and leave it running.
func reachable() error {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return nil
	}
	run := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	if fileExists(filepath.Join(run, "bus")) || fileExists(filepath.Join(run, "dbus-session")) {
		return nil
	}
	return errNoBus
}

// Probe asks whether the keychain is open, which Get cannot do without causing
// an unlock dialog.
func (systemKeyring) Probe() error {
	if err := reachable(); err != nil {
		return err
	}
	service, err := secretservice.NewSecretService()
	if err != nil {
		return err
	}
	locked, err := service.GetLoginCollection().GetProperty("org.freedesktop.Secret.Collection.Locked")
	if err != nil {
		return err
	}
	isLocked, ok := locked.Value().(bool)
	if !ok {
		return fmt.Errorf("the keychain answered %s when asked whether it is locked", locked.Signature())
	}
	if isLocked {
		return errLockedAtRest
	}
	return nil
}
