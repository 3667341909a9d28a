package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// Main runs the command of a program and returns its exit code.
func Main(args []string, p *Program) int {
	root := newRoot()
	if err := p.check(); err != nil {
		return report(root, err)
	}
	root.SetArgs(args)
	return report(root, root.ExecuteContext(context.WithValue(context.Background(), programKey{}, p)))
}

// report prints an error and returns the exit code that it means.
func report(root *cobra.Command, err error) int {
	var sig stopped
	var bad *configs.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &sig): // who was stopped has said so
		if sig.signal == syscall.SIGTERM {
			return exitTerminated
		}
		return exitInterrupted
	}
	fmt.Fprintln(root.ErrOrStderr(), "stoker: "+err.Error())
	if errors.Is(err, train.ErrUsage) || errors.As(err, &bad) {
		return exitUsage
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "stoker",
		Short: "Train, evaluate and export policies that price, schedule and size serverless GPU services",
		Long:  "Stoker trains, evaluates and exports policies that price, schedule and size serverless GPU services.",
		Example: `  stoker train configs/sizing/main.yaml      train a policy; the run is written to runs/
  stoker eval runs/sizing-s1                 compare it with baselines, with intervals and plots
  stoker envs                                list the environments`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if v, err := c.Flags().GetBool("version"); err == nil && v {
				_, err := fmt.Fprintln(c.OutOrStdout(), versionLine())
				return err
			}
			return c.Help()
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	root.Flags().Bool("version", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"train", "Train:", []*cobra.Command{newCommand(), trainCommand(), resumeCommand(), sweepCommand(), libraryCommand(), onlineCommand()}},
		{"judge", "Judge:", []*cobra.Command{evalCommand(), frontierCommand(), plotCommand(), powerCommand(), explainCommand()}},
		{"plan", "Plan:", []*cobra.Command{searchCommand(), whatifCommand(), profileCommand(), traceCommand()}},
		{"use", "Use:", []*cobra.Command{exportCommand(), serveCommand(), zooCommand(), checkCommand()}},
		{"look", "Look:", []*cobra.Command{envsCommand(), agentsCommand(), benchCommand(), versionCommand(), completionCommand()}},
		{"papers", "Papers:", []*cobra.Command{suiteCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("look")
	root.SetHelpCommand(helpCommand())
	return root
}

// helpCommand is cobra's, which does not refuse what is no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command", GroupID: "look",
		RunE: func(c *cobra.Command, a []string) error {
			at := c.Root()
			for _, name := range a {
				i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if i < 0 {
					return knownCommand(at, []string{name})
				}
				at = at.Commands()[i]
			}
			return at.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			at, _, err := c.Root().Find(a)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					out = append(out, sub.Name()+"\t"+sub.Short)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
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
	if strings.ContainsAny(s, " \t'\"$[]{}()*?&;|<>`\\#") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
