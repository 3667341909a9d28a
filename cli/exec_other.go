//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
)

// replaceProcess runs another program and ends with its exit code.
func replaceProcess(path string, args, env []string) error {
	c := exec.Command(path, args[1:]...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		os.Exit(c.ProcessState.ExitCode())
	}
	return err
}
