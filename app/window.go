package app

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// The window's size in pixels. Below the least, panes would have to overlap.
const (
	minWidth, minHeight = 900, 600
	width, height       = 1180, 780
)

// openWindow runs the window's loop on this goroutine, which must be the main one, until it quits. started is called
// once runtime calls are possible; before, Wails would end the process on each.
func openWindow(s *shell, page fs.FS, icon []byte, hidden bool, started func()) error {
	ended := make(chan struct{})
	defer close(ended)
	return wails.Run(&options.App{
		Title:     saysName,
		Width:     width,
		Height:    height,
		MinWidth:  minWidth,
		MinHeight: minHeight,
		// A flash of white would be the first thing to be seen in a dark room.
		BackgroundColour:   options.NewRGB(0x16, 0x18, 0x1d),
		StartHidden:        hidden,
		AssetServer:        &assetserver.Options{Assets: page},
		Bind:               []any{s.page},
		Logger:             wailsLog{s.log},
		LogLevelProduction: logger.WARNING,
		OnStartup: func(ctx context.Context) {
			s.begin(&wailsDesktop{ctx: ctx, ended: ended}, hidden)
			started()
		},
		OnBeforeClose: func(context.Context) bool { return s.beforeClose() },
		Linux: &linux.Options{
			Icon:        icon,
			ProgramName: "countersign",
			// Drawing by the graphics card leaves some machines with a blank window; text does not need it.
			WebviewGpuPolicy: linux.WebviewGpuPolicyNever,
		},
		Mac: &mac.Options{
			OnUrlOpen: func(string) { s.show() },
			About:     &mac.AboutInfo{Title: saysName, Message: "Acts for you, asks you, and keeps the receipts.", Icon: icon},
		},
	})
}

// wailsDesktop is the window system by Wails' runtime.
type wailsDesktop struct {
	ctx   context.Context
	ended <-chan struct{} // closed when the window's loop has ended
}

func (d *wailsDesktop) Show() {
	runtime.WindowShow(d.ctx)
	// Presents the window as well, which is what brings it before others.
	runtime.WindowUnminimise(d.ctx)
}

func (d *wailsDesktop) Hide()                         { runtime.WindowHide(d.ctx) }
func (d *wailsDesktop) Minimise()                     { runtime.WindowMinimise(d.ctx) }
func (d *wailsDesktop) Quit()                         { runtime.Quit(d.ctx) }
func (d *wailsDesktop) Exec(script string)            { runtime.WindowExecJS(d.ctx, script) }
func (d *wailsDesktop) Emit(name string, data ...any) { runtime.EventsEmit(d.ctx, name, data...) }

// Ask makes No the answer of Enter, of Escape and of closing the dialog.
func (d *wailsDesktop) Ask(title, message string) bool {
	answer := d.dialog(runtime.MessageDialogOptions{
		Type: runtime.QuestionDialog, Title: title, Message: message, DefaultButton: "No", CancelButton: "No",
	})
	return answer == "Yes"
}

func (d *wailsDesktop) Tell(title, message string) {
	d.dialog(runtime.MessageDialogOptions{Type: runtime.InfoDialog, Title: title, Message: message})
}

func (d *wailsDesktop) dialog(o runtime.MessageDialogOptions) string {
	text, err := d.wait(func() (string, error) { return runtime.MessageDialog(d.ctx, o) })
	if err != nil {
		return err.Error()
	}
	return text
}

func (d *wailsDesktop) ChooseFolder(title string) (string, error) {
	// Without a home the chooser begins where it likes.
	home, _ := os.UserHomeDir()
	path, err := d.wait(func() (string, error) {
		return runtime.OpenDirectoryDialog(d.ctx, runtime.OpenDialogOptions{Title: title, DefaultDirectory: home, CanCreateDirectories: true})
	})
	if err != nil {
		return "", fmt.Errorf("choose folder: %w", err)
	}
	return path, nil
}

// wait waits for the answer of a dialog, but not beyond the end of the window's loop, after which none comes. The
// goroutine left behind then ends with the process.
func (d *wailsDesktop) wait(ask func() (string, error)) (string, error) {
	type reply struct {
		text string
		err  error
	}
	answer := make(chan reply, 1)
	go func() {
		text, err := ask()
		answer <- reply{text, err}
	}()
	select {
	case r := <-answer:
		return r.text, r.err
	case <-d.ended:
		return "", nil
	}
}

// wailsLog passes what Wails says to our log.
type wailsLog struct{ log *slog.Logger }

func (w wailsLog) Print(m string)   { w.log.Debug("wails", "says", m) }
func (w wailsLog) Trace(m string)   { w.log.Debug("wails", "says", m) }
func (w wailsLog) Debug(m string)   { w.log.Debug("wails", "says", m) }
func (w wailsLog) Info(m string)    { w.log.Info("wails", "says", m) }
func (w wailsLog) Warning(m string) { w.log.Warn("wails", "says", m) }
func (w wailsLog) Error(m string)   { w.log.Error("wails", "says", m) }
func (w wailsLog) Fatal(m string)   { w.log.Error("wails", "says", m) }
