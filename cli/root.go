package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suites"
	"github.com/stoker-rl/stoker/train"
)

// Program is what a command's arguments and configurations may name.
type Program struct {
	Catalog *catalog.Catalog
	Suites  []suite.Suite
}

// Default is what comes with Stoker. The caller owns it and may add to it.
func Default() *Program { return &Program{Catalog: catalog.Default(), Suites: suites.All()} }

// check reports rows that cannot be used.
func (p *Program) check() error {
	problems := []error{p.Catalog.Check()}
	seen := map[string]bool{}
	for _, s := range p.Suites {
		if seen[s.Name] {
			problems = append(problems, fmt.Errorf("two suites are called %q: give one of them another name", s.Name))
		}
		seen[s.Name] = true
	}
	if err := errors.Join(problems...); err != nil {
		return usage("this program's main: %w", err)
	}
	return nil
}

// programKey finds the program in a command's context.
type programKey struct{}

// program returns the program that [Main] was given.
func program(c *cobra.Command) *Program {
	if ctx := c.Context(); ctx != nil {
		if p, _ := ctx.Value(programKey{}).(*Program); p != nil {
			return p
		}
	}
	return Default()
}

// names returns the program's catalog.
func names(c *cobra.Command) *catalog.Catalog { return program(c).Catalog }

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
		return exitCode(root, err)
	}
	root.SetArgs(args)
	return exitCode(root, root.ExecuteContext(context.WithValue(context.Background(), programKey{}, p)))
}

// exitCode prints an error and returns the exit code that it means.
func exitCode(root *cobra.Command, err error) int {
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

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return s.signal.String() }

// patience is how long stopping may take before it is announced.
const patience = time.Second

// onSignal returns a context that ends at the first SIGINT or SIGTERM. If stopping takes a while, now names the work
// that is left, and from then on another signal ends the process at once. An earlier second signal is an echo of the
// first, because timeout(1) and terminals signal a process and its whole group. release gives signals back to Go, which
// ends the process at the first.
func onSignal(ctx context.Context, out io.Writer, now string) (stoppable context.Context, release func()) {
	stoppable, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			cancel(stopped{s})
		case <-done:
			return
		}
		slow, told := time.After(patience), false
		for {
			select {
			case <-done:
				return
			case <-signals:
				if !told {
					continue
				}
				fmt.Fprintf(out, "\n\nended at once\n")
				os.Exit(exitFailed) // whatever was under way: checkpoints are whole or not there
			case <-slow:
				told = true
				fmt.Fprintf(out, "\n\n%s; Ctrl-C once more ends it at once\n", now)
			}
		}
	}()
	return stoppable, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
