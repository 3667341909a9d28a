package cli

import (
	"cmp"
	"context"
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

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suites"
	"github.com/stoker-rl/stoker/internal/shell"
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
	root := newRoot(p)
	if err := p.check(); err != nil {
		return exitCode(root, err)
	}
	root.SetArgs(args)
	return exitCode(root, root.ExecuteContext(context.Background()))
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

// newRoot makes the command line: all commands, in groups by what users do.
func newRoot(p *Program) *cobra.Command {
	version := false
	root := (&command{
		name:     "stoker",
		flags:    []flag{option(&version, "version", "print the version")},
		complete: words(),
		run: func(c *call) (any, error) {
			if !version {
				return nil, c.command.Help()
			}
			_, err := fmt.Fprintln(c, versionLine())
			return nil, err
		},
	}).build(p)
	root.Args, root.SilenceUsage, root.SilenceErrors = knownCommand, true, true
	root.SetFlagErrorFunc(flagError)
	for _, g := range []struct {
		id, title string
		commands  []*command
	}{
		{"train", "Train:", []*command{newCommand(), trainCommand(), resumeCommand(), sweepCommand(), libraryCommand(),
			workerCommand(), workersCommand(), launchCommand(), onlineCommand()}},
		{"judge", "Judge:", []*command{evalCommand(), frontierCommand(), plotCommand(), powerCommand(), explainCommand()}},
		{"plan", "Plan:", []*command{searchCommand(), whatifCommand(), profileCommand(), traceCommand()}},
		{"use", "Use:", []*command{exportCommand(), serveCommand(), zooCommand(), checkCommand(), stepServerCommand()}},
		{"look", "Look:", []*command{envsCommand(), agentsCommand(), benchCommand(), versionCommand(), completionCommand()}},
		{"papers", "Papers:", []*command{suiteCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, d := range g.commands {
			c := d.build(p)
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpFunc(printHelp)
	root.SetHelpCommandGroupID("look")
	help := helpCommand().build(p)
	help.GroupID = "look"
	root.SetHelpCommand(help)
	return root
}

// printHelp is cobra's, with sentences and flags wrapped at the terminal's width. Lines that begin with a space stay as they are.
func printHelp(c *cobra.Command, _ []string) {
	w, flags, usage := c.OutOrStdout(), c.LocalFlags(), c.UsageString()
	width := textWidth(w)
	if isTerminal(w) {
		usage = strings.Replace(usage, strings.TrimSpace(flags.FlagUsages()), strings.TrimSpace(flags.FlagUsagesWrapped(width)), 1)
	}
	var out []string
	for line := range strings.SplitSeq(cmp.Or(c.Long, c.Short), "\n") {
		last := len(out) - 1
		if last >= 0 && line != "" && out[last] != "" && line[0] != ' ' && out[last][0] != ' ' {
			out[last] += " " + line
		} else {
			out = append(out, line)
		}
	}
	for i, line := range out {
		if !strings.HasPrefix(line, " ") {
			out[i] = wrap(line, 0, width)
		}
	}
	fmt.Fprintf(w, "%s\n\n%s", strings.Join(out, "\n"), usage)
}

// helpCommand is cobra's, which does not refuse what is no command.
func helpCommand() *command {
	return &command{
		name: "help", takes: "[COMMAND]", args: arguments{most: -1},
		complete: func(c *call, _ string) (out []string, _ cobra.ShellCompDirective) {
			at, _, err := c.command.Root().Find(c.args)
			if err != nil {
				return nil, onlyThem
			}
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					out = append(out, sub.Name()+"\t"+sub.Short)
				}
			}
			return out, onlyThem
		},
		run: func(c *call) (any, error) {
			at := c.command.Root()
			for _, name := range c.args {
				i := slices.IndexFunc(at.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if i < 0 {
					return nil, knownCommand(at, []string{name})
				}
				at = at.Commands()[i]
			}
			return nil, at.Help()
		},
	}
}

// completionCommand is completion in words of ours, which refuses a shell that there is none for.
func completionCommand() *command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	known := []string{"bash", "zsh", "fish", "powershell"}
	return &command{
		name: "completion", takes: "SHELL", args: arguments{1, 1, "SHELL, " + strings.Join(known, ", ") + ","},
		complete: first(words(known...)),
		run: func(c *call) (any, error) {
			write, ok := shells[c.args[0]]
			if !ok {
				return nil, usage("no completion for %q%s; there is one for %s", c.args[0], didYouMean(c.args[0], known, ""),
					strings.Join(known, ", "))
			}
			return nil, write(c.command.Root(), c)
		},
	}
}

// exitHint is what to run after a signal.
func exitHint(dir string) string {
	return "go on with: stoker resume " + shell.Quote(dir)
}

// stopped is the cause of a context that a signal ended.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return s.signal.String() }

// patience is how long stopping may take before it is announced.
const patience = time.Second

// stoppable returns a context that ends at the first SIGINT or SIGTERM. If stopping takes a while, now names the work
// that is left, and from then on another signal ends the process at once. An earlier second signal is an echo of the
// first, because timeout(1) and terminals signal a process and its whole group. release gives signals back to Go, which
// ends the process at the first.
func (c *call) stoppable(now string) (stoppable context.Context, release func()) {
	stoppable, cancel := context.WithCancelCause(c.ctx)
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
				fmt.Fprintf(c.errs, "\n\nended at once\n")
				os.Exit(exitFailed) // whatever was under way: checkpoints are whole or not there
			case <-slow:
				told = true
				fmt.Fprintf(c.errs, "\n\n%s; Ctrl-C once more ends it at once\n", now)
			}
		}
	}()
	return stoppable, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
