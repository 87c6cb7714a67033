package notify

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// The toast is built from environment variables through the XML object, so that no text becomes part of the script or
// of the markup. "reminder" keeps it on screen; a click opens our own address, which raises the window.
const showToast = `
$ErrorActionPreference = 'Stop'
[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
[void][Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom.XmlDocument, ContentType = WindowsRuntime]
$xml = New-Object Windows.Data.Xml.Dom.XmlDocument
$xml.LoadXml('<toast activationType="protocol" launch="countersign://show"><visual><binding template="ToastGeneric"><text/><text/></binding></visual><actions><action content="Show" activationType="protocol" arguments="countersign://show"/></actions></toast>')
if ($env:COUNTERSIGN_STAY -eq '1') { $xml.DocumentElement.SetAttribute('scenario', 'reminder') }
$texts = $xml.GetElementsByTagName('text')
[void]$texts.Item(0).AppendChild($xml.CreateTextNode($env:COUNTERSIGN_TITLE))
[void]$texts.Item(1).AppendChild($xml.CreateTextNode($env:COUNTERSIGN_BODY))
$toast = New-Object Windows.UI.Notifications.ToastNotification $xml
$toast.Tag = $env:COUNTERSIGN_TAG
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('Countersign').Show($toast)
`

const closeToast = `
[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
[Windows.UI.Notifications.ToastNotificationManager]::History.Remove($env:COUNTERSIGN_TAG, '', 'Countersign')
`

// maxTag is how long a toast's tag may be.
const maxTag = 16

type toasts struct {
	mu    sync.Mutex // guards the rest
	tags  map[string]string
	count int
}

// New makes a notifier. A click comes back as a start of the program with our own address, so opened is not called.
func New(_ *slog.Logger, _ func(key string)) Notifier { return &toasts{tags: map[string]string{}} }

func (t *toasts) tag(key string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tags[key] == "" {
		t.count++
		tag := fmt.Sprintf("cs%d", t.count)
		t.tags[key] = tag[:min(len(tag), maxTag)]
	}
	return t.tags[key]
}

func (t *toasts) Show(ctx context.Context, n Notification) error {
	stay := "0"
	if n.Stay {
		stay = "1"
	}
	return powershell(ctx, showToast,
		"COUNTERSIGN_TITLE="+n.Title, "COUNTERSIGN_BODY="+n.Body, "COUNTERSIGN_TAG="+t.tag(n.Key), "COUNTERSIGN_STAY="+stay)
}

func (t *toasts) Close(ctx context.Context, key string) error {
	t.mu.Lock()
	tag := t.tags[key]
	delete(t.tags, key)
	t.mu.Unlock()
	if tag == "" {
		return nil
	}
	return powershell(ctx, closeToast, "COUNTERSIGN_TAG="+tag)
}

func (t *toasts) Stop() {}

func powershell(ctx context.Context, script string, env ...string) error {
	cmd := exec.CommandContext(ctx, "powershell.exe", "-NoProfile", "-NonInteractive", "-Command", script)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}
