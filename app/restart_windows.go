package app

import (
	"os"
	"os/exec"
)

// replace starts a new process and ends this one, for Windows cannot put a program in another's place.
func replace(program string, argv, env []string) error {
	cmd := exec.Command(program, argv[1:]...)
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}
