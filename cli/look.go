package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check PATH",
		Short: "Verify a checkpoint, a run or an exported policy",
		Long: `Verify a checkpoint, a run folder (all its checkpoints, pointers and logs) or an exported policy, byte by byte. The exit
code is 1 if something is damaged; the report says what and where.`,
		Example: "  stoker check runs/sizing-attmf-s1\n  stoker check " +
			"runs/sizing-attmf-s1/checkpoints/step-000000010000 --json",
		Args: args(1, 1, "PATH"),
		RunE: func(c *cobra.Command, a []string) error {
			check := checkpoints.Check
			if name, ok := zoo.Cut(a[0]); ok {
				check = func(string) (*checkpoints.Report, error) { return zoo.Check(name) }
			} else if _, err := os.Lstat(a[0]); errors.Is(err, fs.ErrNotExist) {
				return usage("there is no %s", a[0])
			}
			rep, err := check(a[0])
			if asJSON && rep != nil {
				return errors.Join(printJSON(c.OutOrStdout(), rep), err)
			}
			if rep != nil {
				fmt.Fprintln(c.OutOrStdout(), rep)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

// envLine is an environment as a program reads it.
type envLine struct {
	ID    string          `json:"id"`
	Doc   string          `json:"doc"`
	Page  string          `json:"page,omitempty"`
	Step  string          `json:"step,omitempty"`
	Max   int             `json:"max_steps,omitempty"`
	Kinds []kindLine      `json:"agents,omitempty"`
	Info  []envs.Quantity `json:"info,omitempty"`
}

type kindLine struct {
	Name        string   `json:"name"`
	Agents      int      `json:"agents"`
	Observation string   `json:"observation"`
	Action      string   `json:"action"`
	Features    []string `json:"features,omitempty"`
	Actions     []string `json:"actions,omitempty"`
}

func envsCommand() *cobra.Command {
	var asJSON, check bool
	c := &cobra.Command{
		Use:     "envs [ID]",
		Short:   "List the environments, show one, or check one against the contract",
		Example: "  stoker envs\n  stoker envs stoker/Sizing-v2\n  stoker envs stoker/Sizing-v2 --check",
		Args:    args(0, 1, ""),
		RunE: func(c *cobra.Command, a []string) error {
			list := names(c).Envs
			if len(a) == 1 {
				e, err := names(c).Env(a[0])
				if err != nil {
					return usage("%w", err)
				}
				list = []catalog.Env{e}
			}
			if check {
				return checkEnvs(c, list, asJSON)
			}
			return listEnvs(c, list, len(a) == 1, asJSON)
		},
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, e := range names(c).Envs {
				out = append(out, e.ID+"\t"+e.Doc)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().BoolVar(&check, "check", false, "run the conformance checks")
	return c
}

func listEnvs(c *cobra.Command, list []catalog.Env, whole, asJSON bool) error {
	var lines []envLine
	for _, e := range list {
		l := envLine{ID: e.ID, Doc: e.Doc, Page: e.Page}
		if whole || asJSON {
			env, err := e.New(e.Config(), workload.Default())
			if err != nil {
				return fmt.Errorf("%s: %w", e.ID, err)
			}
			l = lineOf(e, env.Spec())
		}
		lines = append(lines, l)
	}
	w := c.OutOrStdout()
	switch {
	case asJSON:
		return printJSON(w, lines)
	case whole:
		printEnv(c, lines[0])
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\n", l.ID, l.Doc)
	}
	return t.Flush()
}

func lineOf(e catalog.Env, s *envs.Spec) envLine {
	l := envLine{ID: e.ID, Doc: e.Doc, Page: e.Page, Step: s.Step.Unit, Max: s.MaxSteps, Info: s.Info}
	if s.Step.Fixed > 0 {
		l.Step += fmt.Sprintf(" of %g s", float64(s.Step.Fixed)/1e6)
	}
	for _, k := range s.Kinds {
		l.Kinds = append(l.Kinds, kindLine{k.Name, k.Agents, k.Observation.String(), k.Action.String(), k.Features,
			k.Actions})
	}
	return l
}

func printEnv(c *cobra.Command, l envLine) {
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%s\n%s\n", l.ID, l.Doc)
	if l.Page != "" {
		fmt.Fprintf(w, "page: %s\n", l.Page)
	}
	fmt.Fprintf(w, "\nstep: %s", l.Step)
	if l.Max > 0 {
		fmt.Fprintf(w, ", episodes are truncated after %d", l.Max)
	}
	fmt.Fprintln(w)
	for _, k := range l.Kinds {
		fmt.Fprintf(w, "\n%d × %s\n  observation  %s\n", k.Agents, k.Name, k.Observation)
		if len(k.Features) > 0 {
			fmt.Fprintf(w, "               %s\n", strings.Join(k.Features, ", "))
		}
		fmt.Fprintf(w, "  action       %s\n", k.Action)
		if len(k.Actions) > 0 {
			fmt.Fprintf(w, "               %s\n", strings.Join(k.Actions, ", "))
		}
	}
	if len(l.Info) == 0 {
		return
	}
	fmt.Fprintln(w, "\nreports")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, q := range l.Info {
		better := string(q.Better)
		if better != "" {
			better += " is better"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", q.Name, q.Unit, better, q.Doc)
	}
	t.Flush() // the terminal's own failure has nowhere to be told
}

// checkEnvs runs the conformance checks of each environment.
func checkEnvs(c *cobra.Command, list []catalog.Env, asJSON bool) error {
	type line struct {
		ID       string   `json:"id"`
		Conforms bool     `json:"conforms"`
		Problems []string `json:"problems"`
	}
	lines, bad := make([]line, len(list)), 0
	for i, e := range list {
		l := line{ID: e.ID, Problems: []string{}}
		for _, p := range envtest.Check(func() (envs.Env, error) { return e.New(e.Config(), workload.Default()) },
			envtest.Options{}) {
			l.Problems = append(l.Problems, fmt.Sprint(p))
		}
		if l.Conforms = len(l.Problems) == 0; !l.Conforms {
			bad++
		}
		if lines[i] = l; asJSON {
			continue
		}
		if l.Conforms {
			fmt.Fprintf(c.OutOrStdout(), "%s: conforms\n", e.ID)
		}
		for _, p := range l.Problems {
			fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", e.ID, p)
		}
	}
	if asJSON {
		if err := printJSON(c.OutOrStdout(), lines); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d environments break the contract", bad, len(list))
	}
	return nil
}

func agentsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "agents",
		Short:   "List the learners and the policies to compare with",
		Example: "  stoker agents --json",
		Args:    args(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			type line struct {
				Name string       `json:"name"`
				Kind catalog.Kind `json:"kind"`
				Envs []string     `json:"envs,omitempty"`
				Doc  string       `json:"doc"`
				Page string       `json:"page,omitempty"`
			}
			var lines []line
			for _, a := range names(c).Learners {
				lines = append(lines, line{a.Name, catalog.Learned, nil, a.Doc, a.Page})
			}
			for _, r := range names(c).Rivals {
				lines = append(lines, line{r.Name, r.Kind, r.Envs, r.Doc, r.Page})
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), lines)
			}
			t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, l := range lines {
				in := strings.Join(l.Envs, " ")
				if in == "" && l.Kind != catalog.Learned {
					in = "all"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Name, l.Kind, in, l.Doc)
			}
			return t.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}
