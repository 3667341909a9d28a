package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/eval/export"
	"github.com/stoker-rl/stoker/train"
)

func checkCommand() *command {
	return &command{
		name: "check", takes: "PATH", args: arguments{1, 1, "PATH"},
		json: "print the report as JSON",
		run: func(c *call) (any, error) {
			check := checkpoints.Check
			if name, ok := zoo.Cut(c.args[0]); ok {
				check = func(string) (*checkpoints.Report, error) { return zoo.Check(name) }
			} else if _, err := os.Lstat(c.args[0]); errors.Is(err, fs.ErrNotExist) {
				return nil, train.Missing(c.args[0], "a run's folder, a checkpoint or an exported policy")
			} else if filepath.Ext(c.args[0]) == bundle.Extension {
				check = func(path string) (*checkpoints.Report, error) { return export.Check(c.Catalog, path) }
			}
			rep, err := check(c.args[0])
			if rep == nil {
				return nil, err
			}
			fmt.Fprintln(c, rep)
			return rep, err
		},
	}
}

func agentsCommand() *command {
	return &command{
		name: "agents",
		json: "print as JSON",
		run: func(c *call) (any, error) {
			type line struct {
				Name string       `json:"name"`
				Kind catalog.Kind `json:"kind"`
				Envs []string     `json:"envs,omitempty"`
				Doc  string       `json:"doc"`
				Page string       `json:"page,omitempty"`
			}
			var lines []line
			for _, a := range c.Catalog.Learners {
				lines = append(lines, line{a.Name, catalog.Learned, nil, a.Doc, a.Page})
			}
			for _, r := range c.Catalog.Rivals {
				lines = append(lines, line{r.Name, r.Kind, r.Envs, r.Doc, r.Page})
			}
			t := tabwriter.NewWriter(c, 0, 0, 2, ' ', 0)
			for _, l := range lines {
				in := strings.Join(l.Envs, " ")
				if in == "" && l.Kind != catalog.Learned {
					in = "all"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Name, l.Kind, in, l.Doc)
			}
			return lines, t.Flush()
		},
	}
}
