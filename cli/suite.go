package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/suite"
)

type suiteFlags struct {
	coordinator
	quick             bool
	seeds, data, runs string
	workers           int
}

func suiteCommand() *command {
	f := &suiteFlags{runs: runsFolder}
	return &command{
		name: "suite", takes: "[NAME]", args: arguments{most: 1}, stop: "stopping, nothing but trained runs is kept",
		json: "print suite.json instead of the table, or the list as JSON",
		out:  "folder of the result, as in compare/hops (default: runs/suites/NAME)",
		flags: append(f.coordinator.flags(),
			option(&f.quick, "quick", "fewer seeds and shorter runs: under two minutes on two cores"),
			option(seedList(&f.seeds), "seeds", "workload seeds, as in 1-20 (default: the suite's)"),
			option(&f.runs, "runs", "folder of the runs that the suite trains, or takes where they are there"),
			workers(&f.workers),
			option(&f.data, "data",
				"folder of real traces that are not part of the program, as in DATA/azure2019/100_inv.csv for --data DATA"),
		),
		complete: first(among(onlyThem, func(c *call) (out []string) {
			for _, s := range c.Suites {
				out = append(out, s.Name+"\t"+s.Doc)
			}
			return out
		})),
		run: func(c *call) (any, error) {
			if len(c.args) == 0 {
				return f.list(c)
			}
			return f.run(c)
		},
	}
}

// suitesDir is where results go that are given no folder.
const suitesDir = "runs/suites"

func (f *suiteFlags) list(c *call) (any, error) {
	if slices.ContainsFunc(append([]string{"quick", "seeds", "out", "data", "workers", "runs"}, farmed...), c.given) {
		return nil, usage("no suite is named; see: stoker suite")
	}
	type line struct {
		Name  string `json:"name"`
		Doc   string `json:"doc"`
		Paper string `json:"paper"`
		Seeds int    `json:"seeds"`
	}
	lines := []line{}
	for _, s := range c.Suites {
		lines = append(lines, line{s.Name, s.Doc, s.Paper, s.Seeds})
	}
	t := tabwriter.NewWriter(c, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\n\t%s\n", l.Name, l.Doc, l.Paper)
	}
	err := t.Flush()
	fmt.Fprintf(c, "\nrun one:  stoker suite %s --quick\n", lines[0].Name)
	return lines, err
}

func (f *suiteFlags) run(c *call) (shown any, err error) {
	s, err := suite.Find(c.Suites, c.args[0])
	if err != nil {
		return nil, usage("%w", err)
	}
	o := suite.Options{Quick: f.quick, Workers: f.workers, Data: f.data, Runs: f.runs, Progress: c.stages()}
	if f.seeds != "" {
		if o.Seeds, err = configs.ParseSeeds(f.seeds); err != nil {
			return nil, err
		}
	}
	if f.data != "" {
		if info, err := os.Stat(f.data); err != nil || !info.IsDir() {
			return nil, usage("--data is %s, want a folder", f.data)
		}
	}
	out := c.folder
	if out == "" {
		out = filepath.Join(filepath.FromSlash(suitesDir), s.Name)
	}
	var closed func() error
	if o.Elsewhere, closed, err = f.coordinator.open(c); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	res, err := suite.Run(c.ctx, s, o, out, suite.Made{Version: Version(), Revision: revision()})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "%s\npage:    %s\ndata:    %s\n", suite.Text(res), filepath.Join(out, suite.PageFile),
		filepath.Join(out, suite.ResultFile))
	for _, fig := range res.Figures {
		fmt.Fprintf(c, "figure:  %s\n", filepath.Join(out, fig))
	}
	fmt.Fprintf(c, "again:   %s\n", res.Command)
	return res, nil
}
