package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval/export"
	"github.com/stoker-rl/stoker/train"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check PATH",
		Short: "Verify a checkpoint, a run or an exported policy",
		Long: `Verify a checkpoint, a run folder (all its checkpoints, pointers and logs), an exported policy or a bundle, byte by byte.
Of a bundle the policy is built too, and shown the observations of its self-test; the report says what is inside. The exit
code is 1 if something is damaged; the report says what and where.`,
		Example: "  stoker check runs/sizing-s1\n  stoker check " +
			"runs/sizing-s1/checkpoints/step-000000100000 --json\n  stoker check sizing-s1.stoker",
		Args: args(1, 1, "PATH"),
		RunE: func(c *cobra.Command, a []string) error {
			check := checkpoints.Check
			if name, ok := zoo.Cut(a[0]); ok {
				check = func(string) (*checkpoints.Report, error) { return zoo.Check(name) }
			} else if _, err := os.Lstat(a[0]); errors.Is(err, fs.ErrNotExist) {
				return train.Missing(a[0], "a run's folder, a checkpoint or an exported policy")
			} else if filepath.Ext(a[0]) == bundle.Extension {
				check = func(path string) (*checkpoints.Report, error) { return export.Check(names(c), path) }
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
