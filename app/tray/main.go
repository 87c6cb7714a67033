// Command countersign-tray draws the tray icon and its menu from the lines that its parent, the window, writes to its
// standard input, and writes the owner's choices to its standard output.
//
// It is a process of its own because the window and the tray both want the main thread. It holds no truth, no port and
// no token: it forgets everything when it ends, and it ends when its input does. A click carries the nonce of the
// question that the row showed, so that a menu left open cannot answer another one. Without a session bus it shows
// nothing, says so, and stays, so that its parent does not start it again and again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"countersign/app/traymsg"

	"fyne.io/systray"
)

// version is set by the linker.
var version = "dev"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("countersign-tray", version)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := traymsg.NewWriter(os.Stdout)
	in := traymsg.NewReader(os.Stdin)
	err := watch(ctx, func(watcher bool) { send(out, traymsg.Line{Ready: &traymsg.Ready{Watcher: watcher}}) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "no tray:", err)
		send(out, traymsg.Line{Ready: &traymsg.Ready{}})
		follows(in, func(traymsg.Line) error { return nil })
		return
	}
	m := &menu{out: out}
	systray.SetOnTapped(func() { m.click(traymsg.Click{Kind: traymsg.Open}) })
	systray.Run(func() {
		m.show(traymsg.Line{State: &traymsg.State{State: traymsg.Offline, Title: "Countersign is starting"}})
		m.show(traymsg.Line{Menu: &traymsg.Menu{}})
		go func() {
			follows(in, m.show)
			systray.Quit()
		}()
	}, func() {})
}

// follows hands each line to do until the parent closes the pipe, which is how it ends this process.
func follows(in *traymsg.Reader, do func(traymsg.Line) error) {
	for {
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = do(line)
		}
		if err != nil {
			end(err)
		}
	}
}

// send writes to the parent; when nobody reads any more, nobody needs this process.
func send(out *traymsg.Writer, line traymsg.Line) {
	if err := out.Write(line); err != nil {
		end(err)
	}
}

func end(err error) {
	fmt.Fprintln(os.Stderr, "countersign-tray:", err)
	os.Exit(3)
}
