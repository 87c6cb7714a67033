package secret

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/zalando/go-keyring"
)

const offer = " Until then you can keep your keys in a file under a passphrase, or only until you quit."

var (
	statusKeychain   = Status{State: StateKeychain, Sentence: "Your keys are kept in the keychain of this computer."}
	statusFile       = Status{State: StateFile, Sentence: "Your keys are kept in an encrypted file, which is open."}
	statusFileLocked = Status{State: StateFileLocked, Sentence: "Your keys are in an encrypted file, which is locked.", Remedy: "Enter its passphrase."}
	statusSession    = Status{State: StateSession, Sentence: "Your keys are kept in memory only and are forgotten when you quit."}
	statusRefused    = Status{State: StateNone, Sentence: "The keychain said that it saved the key, but did not.", Remedy: "Try again." + offer}
)

// classify puts the many ways in which a keychain refuses into states. What it
// does not know is StateNone with the cause in the log.
func classify(err error) Status {
	text := err.Error()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Status{State: StateNone, Sentence: "The question to the keychain was cancelled.", Remedy: "Try again."}
	case errors.Is(err, errTimeout), errors.Is(err, context.DeadlineExceeded):
		return Status{
			State:    StateLocked,
			Sentence: "The keychain does not answer; it is probably locked and waits for its password.",
			Remedy:   "Unlock it in the window that asks for the password, then try again." + offer,
		}
	case errors.Is(err, errLockedAtRest),
		has("failed to unlock correct collection", "org.freedesktop.Secret.Error.IsLocked", "User interaction is not allowed", "exit status 36", "exit status 51") &&
			!has("aliases/default"):
		return Status{
			State:    StateLocked,
			Sentence: "The keychain is locked.",
			Remedy:   "Unlock it by signing in or with your password manager, then try again." + offer,
		}
	case has("aliases/default"), has("org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownObject", "No such object path", "No such interface", "org.freedesktop.Secret.Error.NoSuchObject"):
		return Status{
			State:    StateNone,
			Sentence: "A keychain runs here, but no keyring was made in it yet.",
			Remedy:   "Make one named Login, for example in Passwords and Keys." + offer,
		}
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return Status{State: StateNone, Sentence: "This system has no keychain that can be used.", Remedy: strings.TrimSpace(offer)}
	case errors.Is(err, errNoBus), has("session bus", "dial unix"):
		return Status{
			State:    StateNone,
			Sentence: "There is no keychain here, since no desktop session runs.",
			Remedy:   "Start from a desktop session, or install gnome-keyring and start under dbus-run-session." + offer,
		}
	case has("not provided by any .service files", "ServiceUnknown", "NameHasNoOwner"):
		return Status{
			State:    StateNone,
			Sentence: "No keychain is installed or running on this computer.",
			Remedy:   "Install gnome-keyring, KWallet or KeePassXC and sign in again." + offer,
		}
	default:
		return Status{State: StateNone, Sentence: "The keychain cannot be used.", Remedy: repair() + offer}
	}
}

func repair() string {
	switch runtime.GOOS {
	case "darwin":
		return "Open Keychain Access and check that the login keychain is unlocked."
	case "windows":
		return "Open Credential Manager and check that it works."
	default:
		return "Check that your keyring service runs, then try again."
	}
}
