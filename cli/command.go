// Package cli is the stoker command: flags, help, exit codes and what is printed. What is done lives in the packages
// train, eval, checkpoints and envs.
package cli

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-rl/stoker/configs"
)

// command is one of stoker's: what it takes and what it does. All else is done for all commands in one way: parsing,
// --json, --out, help, completion, errors and exit codes. Its page, pages/NAME.txt, has its sentence in the first line,
// then its help and its examples.
type command struct {
	name  string    // behind those of the commands above it, as in "sweep show"
	takes string    // its arguments as the help shows them, as in "[RUN]…"
	args  arguments // how many of them
	fill  []string  // what the page leaves open: a word, what stands for it, and so on
	flags []flag
	// json says what --json prints, and out what --out names; where one is empty there is no such flag. --out is outIs
	// unless it is given; where noOut says what is missing, it must be given.
	json, out, outIs, noOut string
	// stop says what is left to do when a signal ends the context; where it is empty a signal ends the process.
	stop     string
	complete completion // of the arguments
	// run does it. Text goes to the call, and the value is what --json prints in its place. Neither is bound to the other:
	// what failed may have a value too.
	run func(c *call) (value any, err error)
	sub []*command
}

// flag is one of a command's.
type flag struct {
	name, help string
	to         any // a pointer to its variable, which holds the default, or what parses it
	complete   completion
}

// option is a flag, completed by words where there are some.
func option(to any, name, help string, list ...string) flag {
	f := flag{name: name, help: help, to: to}
	if len(list) > 0 {
		f.complete = words(list...)
	}
	return f
}

// by says how a flag is completed.
func (f flag) by(complete completion) flag {
	f.complete = complete
	return f
}

// was has the names that flags had before, by command, and what each is called now. Both are taken.
var was = map[string]map[string]string{
	"frontier":      {"rival": "baseline"},
	"power":         {"rivals": "baselines"},
	"profile check": {"functions": "profiles"},
	"zoo card":      {"to": "out"},
}

// call is a command under way. What is written to it is for people: with --json it is dropped.
type call struct {
	*Program
	io.Writer
	ctx       context.Context
	command   *cobra.Command
	args      []string
	json      bool
	folder    string    // of --out
	out, errs io.Writer // standard output whether with --json or not, and standard error
	wrote     []string  // files below the folder, which are named after the text
}

// experiment reads a configuration.
func (c *call) experiment(path string, sets []string) (*configs.Experiment, error) {
	x, err := configs.Load(path, sets, c.Catalog)
	if err != nil {
		return nil, usage("%w", err)
	}
	c.renamed(x)
	return x, nil
}

// renamed says which keys of a configuration are called otherwise now.
func (c *call) renamed(x *configs.Experiment) {
	for _, line := range x.Renamed {
		fmt.Fprintf(c.errs, "warning: %s\n", line)
	}
}

// given reports whether a flag is on the command line.
func (c *call) given(flag string) bool { return c.command.Flags().Changed(flag) }

// usage is the line that says how the command is called.
func (c *call) usage() string { return c.command.UseLine() }

// without refuses flags that mean nothing here, and says why.
func (c *call) without(why string, flags ...string) error {
	for _, f := range flags {
		if c.given(f) {
			return usage("--%s %s", f, why)
		}
	}
	return nil
}

// line prints a value for programs on one line, where the command prints several.
func (c *call) line(v any) error {
	if !c.json {
		return nil
	}
	return json.NewEncoder(c.out).Encode(v)
}

// makeFolder makes a folder for files to come: before the work, not after it.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// save writes files to the folder of --out, where it is given. Write returns their names in the folder.
func (c *call) save(write func(folder string) ([]string, error)) error {
	if c.folder == "" {
		return nil
	}
	files, err := write(c.folder)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	c.wrote = files
	return nil
}

// do runs the command.
func (c *call) do(d *command) error {
	if d.noOut != "" && c.folder == "" {
		return usage("--out is missing: %s", d.noOut)
	}
	if d.stop != "" {
		ctx, release := c.stoppable(d.stop)
		defer release()
		c.ctx = ctx
	}
	value, err := d.run(c)
	if c.json && value != nil {
		return errors.Join(err, printJSON(c.out, value))
	}
	for _, f := range c.wrote {
		fmt.Fprintf(c, "wrote %s\n", filepath.Join(c.folder, f))
	}
	return err
}

//go:embed pages/*.txt
var pages embed.FS

// page reads a command's: its sentence, its help and its examples.
func (d *command) page() (sentence, help, examples string) {
	text, err := pages.ReadFile("pages/" + strings.ReplaceAll(d.name, " ", "-") + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	help, examples, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\nExamples:\n")
	sentence, help, _ = strings.Cut(help, "\n")
	return sentence, strings.NewReplacer(d.fill...).Replace(strings.Trim(help, "\n")), examples
}

// build makes the command for the parser.
func (d *command) build(p *Program) *cobra.Command {
	sentence, help, examples := d.page()
	folder, asJSON := d.outIs, false
	called := func(c *cobra.Command, a []string) *call {
		o := &call{Program: p, Writer: c.OutOrStdout(), ctx: c.Context(), command: c, args: a, json: asJSON, folder: folder,
			out: c.OutOrStdout(), errs: c.ErrOrStderr()}
		if asJSON {
			o.Writer = io.Discard
		}
		return o
	}
	completes := func(by completion) cobra.CompletionFunc {
		if by == nil {
			return nil
		}
		return func(c *cobra.Command, a []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return by(called(c, a), prefix)
		}
	}
	c := &cobra.Command{
		Use:   strings.TrimSpace(d.name[strings.LastIndex(d.name, " ")+1:] + " " + d.takes),
		Short: sentence, Long: help, Example: examples,
		Args:              d.args.check,
		RunE:              func(c *cobra.Command, a []string) error { return called(c, a).do(d) },
		ValidArgsFunction: completes(d.complete),
	}
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := was[d.name][name]; ok {
			name = now
		}
		return pflag.NormalizedName(name)
	})
	list := d.flags
	if d.json != "" {
		list = append(list, option(&asJSON, "json", d.json))
	}
	if d.out != "" {
		list = append(list, option(&folder, "out", d.out))
	}
	for _, f := range list {
		f.define(c.Flags())
		if f.complete == nil {
			continue
		}
		if err := c.RegisterFlagCompletionFunc(f.name, completes(f.complete)); err != nil {
			panic(err) // the flag was just defined
		}
	}
	for _, s := range d.sub {
		c.AddCommand(s.build(p))
	}
	return c
}

// workers is the flag of all commands that play episodes.
func workers(to *int) flag {
	return option(whole(to, 0), "workers", "episodes that run at the same time, as in 4; 0 is one per core")
}

// perCore is what --workers asks for.
func perCore(workers int) int {
	if workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}

// define adds the flag to those of the parser.
func (f flag) define(fl *pflag.FlagSet) {
	switch to := f.to.(type) {
	case *bool:
		fl.BoolVar(to, f.name, *to, f.help)
	case *string:
		fl.StringVar(to, f.name, *to, f.help)
	case *float64:
		fl.Float64Var(to, f.name, *to, f.help)
	case *int64:
		fl.Int64Var(to, f.name, *to, f.help)
	case *uint64:
		fl.Uint64Var(to, f.name, *to, f.help)
	case *time.Duration:
		fl.DurationVar(to, f.name, *to, f.help)
	case *[]string:
		fl.StringSliceVar(to, f.name, *to, f.help)
	case *[]float64:
		fl.Float64SliceVar(to, f.name, *to, f.help)
	case *[]int:
		fl.IntSliceVar(to, f.name, *to, f.help)
	case *map[string]string:
		fl.StringToStringVar(to, f.name, *to, f.help)
	case repeated:
		fl.StringArrayVar(to.to, f.name, *to.to, f.help)
	default:
		fl.Var(to.(pflag.Value), f.name, f.help)
	}
}

// printJSON writes v as indented JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
