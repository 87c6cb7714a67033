// Package app is the native window around the host: the Wails window, the page's line to the gateway, the tray helper's
// supervision, native notifications and the restart of a window whose page has died.
//
// It holds no truth. What waits, what runs and what was decided is the host's; this package shows it and carries the
// owner's choices back. It opens no port and gives the page no credential: frames travel over Wails' calls and events.
//
// It promises that the window can always be reached again: closing it hides it only where a tray can bring it back, a
// second start raises it, and Quit in the tray or the dialog ends everything. It refuses to allow from the tray what
// the tray may only show, whatever the helper says.
package app
