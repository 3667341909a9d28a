package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval/fit"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
)

// searchFlags are the flags of search.
type searchFlags struct {
	fit.Options
	minutes float64
	sets    []string
}

func searchCommand() *command {
	f := &searchFlags{Options: fit.DefaultOptions()}
	return &command{
		name: "search", takes: "BASELINE CONFIG", args: arguments{2, 2, "BASELINE CONFIG"},
		stop: "stopping, nothing is written",
		json: "print the file's content as JSON", out: "file to write (default: BASELINE.json)",
		flags: []flag{
			option(whole(&f.Evaluations, 1), "evaluations", "episodes to play in all"),
			option(whole(&f.Population, 4), "population", "candidates in a generation"),
			option(whole(&f.Episodes, 1), "episodes", "episodes that each candidate of a generation plays"),
			option(&f.Seed, "seed", "seed of the candidates' draws"),
			option(&f.minutes, "minutes", "end after so many minutes, and the generation under way (default: no limit)"),
			option(repeated{&f.sets}, "set",
				"set a key of the configuration, as in env.reward.qos=4 (repeatable)").by(keys),
			workers(&f.Workers),
		},
		complete: func(c *call, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(c.args) == 0 {
				return fit.Names(c.Catalog), onlyThem
			}
			return configurations(c, prefix)
		},
		run: f.run,
	}
}

func (f *searchFlags) run(c *call) (any, error) {
	baseline, config, out := c.args[0], c.args[1], c.folder
	x, err := c.experiment(config, f.sets)
	if err != nil {
		return nil, err
	}
	if f.minutes < 0 {
		return nil, usage("--minutes is %g, want more than 0", f.minutes)
	}
	f.Limit = time.Duration(f.minutes * float64(time.Minute))
	f.Workers = perCore(f.Workers)
	if out == "" {
		out = baseline + ".json"
	}
	if info, err := os.Stat(filepath.Dir(out)); err != nil || !info.IsDir() { // before the work, not after it
		return nil, usage("--out: %s is no folder", filepath.Dir(out))
	}
	f.Progress = c.generations()
	r, err := fit.Run(c.ctx, x, baseline, f.Options)
	if err != nil {
		return nil, err
	}
	r.Found.Command, r.Found.Version, r.Found.Revision = os.Args, Version(), revision()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o666); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	fmt.Fprintf(c, "%s: %d numbers, %d episodes; measured on workload seeds %s of the training part:\n\n", baseline,
		r.Found.Numbers, r.Found.Evaluations, r.Found.Seeds)
	fmt.Fprintf(c, "%-14s %12s %12s\n", "", "before", "found")
	for _, m := range []string{"return", "price", "violated"} {
		if after, ok := r.Found.After[m]; ok || m == "return" {
			fmt.Fprintf(c, "%-14s %12.4g %12.4g\n", m, r.Found.Before[m], after)
		}
	}
	fmt.Fprintf(c, "\nwrote %s\ncompare it: stoker eval %s --config %s --out compare/", out, baseline, shell.Quote(config))
	for _, set := range append(f.sets, fmt.Sprintf("eval.baselines=[{name: %s, file: %s}]", baseline, out)) {
		fmt.Fprintf(c, " --set %s", shell.Quote(set))
	}
	fmt.Fprintln(c)
	return r, nil
}

type onlineFlags struct {
	search.Online
	sets                     []string
	workflow, library, bands string
	users                    int
	noSafe, compare          bool
}

func onlineCommand() *command {
	f := &onlineFlags{Online: search.DefaultOnline("")}
	f.Protocol.Seed = 1
	return &command{
		name: "online", takes: "RUN|CHECKPOINT [BASELINE]…", args: arguments{1, -1, "RUN|CHECKPOINT"},
		stop: "stopping, nothing is written",
		json: "print search.json instead of tables", out: "folder of the result",
		flags: []flag{
			option(repeated{&f.sets}, "set",
				"set a key of the checkpoint's configuration, as in env.qos.latency=12 (repeatable)"),
			option(&f.workflow, "workflow", "workflow to serve (default: the checkpoint's)", workflows...),
			option(whole(&f.users, 1), "users", "closed-loop users (default: the checkpoint's load)"),
			option(&f.library, "library", "CSV file with rows for the replay and for safe exploration"),
			option(whole(&f.Rows, 1), "rows", "rows in the replay at the beginning, and its capacity"),
			option(whole(&f.Protocol.Windows, 1), "windows", "windows of a search"),
			option(whole(&f.Protocol.Repetitions, 1), "repetitions", "searches, each from the checkpoint"),
			option(whole(&f.Protocol.Fresh, 0), "fresh", "windows in which the best is measured again; 0 is none"),
			option(whole(&f.Serve.UpdateEvery, 1), "update-every", "windows between two gradient steps"),
			option(whole(&f.Serve.GradientSteps, 0), "gradient-steps", "updates in each round; 0 is no learning"),
			option(&f.Serve.Noise, "noise", "standard deviation of normal noise on the policy's configurations"),
			option(&f.Protocol.Seed, "seed", "seed of all draws"),
			option(&f.noSafe, "no-safe", "without safe exploration"),
			option(&f.compare, "compare", "with and without safe exploration, under the same draws"),
			option(&f.bands, "bands", "file of price ranges (default: bands.json beside the checkpoint; - is none)"),
		},
		complete: func(c *call, _ string) ([]string, cobra.ShellCompDirective) {
			if len(c.args) == 0 {
				return nil, orFiles
			}
			return c.baselines(sizing.ID), onlyThem
		},
		run: f.run,
	}
}

func (f *onlineFlags) run(c *call) (any, error) {
	o, baselines := f.Online, c.args[1:]
	o.Checkpoint = c.args[0]
	for _, name := range baselines { // before the work, not after it
		if _, err := c.Catalog.Baseline(name); err != nil {
			return nil, usage("%w", err)
		}
	}
	if f.noSafe && f.compare {
		return nil, usage("--no-safe and --compare are both given, want one of them")
	}
	o.Names, o.Bands, o.Progress = c.Catalog, f.bands, c.count("rows of the library")
	o.Sets, o.Protocol.Users = environmentSets(f.sets, f.workflow, nil), f.users
	if f.library != "" {
		var err error
		if o.Library, err = readLibrary(f.library); err != nil {
			return nil, err
		}
	}
	out := c.folder
	if out == "" {
		if info, err := os.Stat(o.Checkpoint); err != nil || !info.IsDir() {
			if _, err := train.OpenCheckpoint(o.Checkpoint); err != nil {
				return nil, err
			}
			return nil, usage("there is no run's folder: name a folder for the result with --out")
		}
		out = filepath.Join(o.Checkpoint, "online")
	}
	server, err := search.NewServer(c.ctx, o)
	if err != nil {
		return nil, err
	}
	var results []*search.Result
	for _, safely := range []bool{true, false} {
		if !f.compare && safely == f.noSafe {
			continue
		}
		r, err := server.Run(c.ctx, safely)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	for _, name := range baselines {
		r, err := server.Baseline(c.ctx, name)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	files, err := search.Save(out, server.Title(), server.QoS(), results...)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", out, err)
	}
	fmt.Fprintln(c, server.About())
	for _, r := range results[:len(results)-len(baselines)] {
		fmt.Fprintf(c, "\n%s\n%s", r.Method, search.Text(r))
	}
	if len(results) > 1 {
		fmt.Fprintf(c, "\n%s", search.Comparison(results...))
	}
	fmt.Fprintln(c)
	if b := server.BandsFile(); b != "" && !f.noSafe {
		fmt.Fprintf(c, "ranges: %s\n", b)
	}
	for _, name := range files {
		if filepath.Ext(name) == ".csv" || filepath.Ext(name) == ".png" || filepath.Ext(name) == ".json" {
			fmt.Fprintf(c, "wrote:  %s\n", filepath.Join(out, name))
		}
	}
	return results, nil
}
