package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// Exit codes, for scripts (see the README).
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // SIGINT, after saving
	exitTerminated  = 143 // SIGTERM, after saving
)

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return s.signal.String() }

// Main runs the command and returns its exit code.
func Main(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(stopped{<-signals})
		<-signals // a second signal does not wait for saving
		os.Exit(exitFailed)
	}()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return report(root, err)
}

// report prints an error and returns the exit code that it means.
func report(root *cobra.Command, err error) int {
	var sig stopped
	var bad *configs.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &sig):
		if sig.signal == syscall.SIGTERM {
			return exitTerminated
		}
		return exitInterrupted
	}
	fmt.Fprintln(root.ErrOrStderr(), "stoker: "+err.Error())
	if errors.Is(err, errUsage) || errors.Is(err, train.ErrUsage) || errors.As(err, &bad) {
		return exitUsage
	}
	return exitFailed
}

// errUsage marks errors in how the command was called.
var errUsage = train.ErrUsage

func usage(format string, args ...any) error { return train.Usage(format, args...) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "stoker",
		Short: "Train, evaluate and export policies that price, schedule and size serverless GPU services",
		Long: `Stoker trains, evaluates and exports policies that price, schedule and size serverless GPU services.

  stoker train configs/sizing/attmf.yaml      train a policy; the run is written to runs/
  stoker eval runs/sizing-attmf-s1            compare it with the published heuristics, with intervals and plots
  stoker envs                                 list the environments`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w\nsee: %s --help", err, c.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "look", Title: "Look:"})
	for _, c := range []*cobra.Command{trainCommand(), resumeCommand(), evalCommand(), plotCommand()} {
		c.GroupID = "work"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{checkCommand(), envsCommand(), agentsCommand(), benchCommand(), versionCommand()} {
		c.GroupID = "look"
		root.AddCommand(c)
	}
	return root
}

// args turns cobra's complaint about arguments into a usage error with the command's own words.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		if err := check(c, a); err != nil {
			return usage("%w\nusage: %s", err, c.UseLine())
		}
		return nil
	}
}

// printJSON writes v as indented JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// exitHint is what to run after a signal.
func exitHint(dir string) string {
	return "go on with: stoker resume " + quote(dir)
}

func quote(s string) string {
	if strings.ContainsAny(s, " \t'\"$") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
