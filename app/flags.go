package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Flags are the command line of the window.
type Flags struct {
	// Home is the data directory, empty for the usual one.
	Home string
	// Hidden starts in the tray.
	Hidden bool
	// Version asks for the version only.
	Version bool
	// Guard is a program to be run and started again when it fails; nil to open the window.
	Guard []string
}

// ErrUsage means that the command line makes no sense or asked for help; what to say has been said.
var ErrUsage = errors.New("usage")

// ParseFlags reads the command line without the program's name. Addresses of our own scheme, with which the desktop
// starts us, mean to show the window, which starting does anyway.
func ParseFlags(args []string, help io.Writer) (Flags, error) {
	var f Flags
	set := flag.NewFlagSet("countersign-desktop", flag.ContinueOnError)
	set.SetOutput(help)
	set.StringVar(&f.Home, "home", "", "data directory (default: COUNTERSIGN_HOME, else the system's convention)")
	set.BoolVar(&f.Hidden, "hidden", false, "start in the tray")
	set.BoolVar(&f.Version, "version", false, "print the version and end")
	guard := set.Bool("guard", false, "run the program after -- and start it again when it fails")
	if err := set.Parse(args); err != nil {
		return f, errors.Join(ErrUsage, err)
	}
	if *guard {
		if f.Guard = set.Args(); len(f.Guard) == 0 {
			fmt.Fprintln(help, "--guard needs a program after --")
			return f, ErrUsage
		}
	}
	return f, nil
}
