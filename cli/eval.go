package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/foreign"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

type evalFlags struct {
	sets              []string
	seeds, config     string
	workers           int
	force, noFrontier bool
	elsewhere
	coordinator
}

func evalCommand() *command {
	f := &evalFlags{}
	return &command{
		name: "eval", takes: "[RUN|SWEEP|CHECKPOINT|POLICY]…", stop: "stopping, nothing is written",
		args: arguments{0, -1, ""}, json: "print eval.json instead of the table",
		out: "folder of the result (default: eval in the first run's folder, or the sweep's)",
		flags: slices.Concat([]flag{
			option(seedList(&f.seeds), "seeds", "workload seeds, as in 1-20 (default: the configuration's)"),
			option(repeated{&f.sets}, "set",
				"set a key of the configuration, as in eval.split=train (repeatable)").by(keys),
			option(&f.config, "config",
				"configuration of environment and workload (default: that of the first checkpoint)"),
			workers(&f.workers),
			option(&f.force, "force", "replace an evaluation with other settings in that folder, and say what it was"),
			option(&f.noFrontier, "no-frontier", "leave out the frontiers of policies with a dial, and their episodes"),
		}, f.elsewhere.flags(), f.coordinator.flags()),
		complete: among(orFiles, func(c *call) []string { return c.baselines("") }),
		run:      f.run,
	}
}

// tracedSeeds is the number of workload seeds whose steps and latencies are kept for figures.
const tracedSeeds = 5

func (f *evalFlags) run(c *call) (any, error) {
	sets := f.sets
	if f.seeds != "" {
		sets = append(sets, "eval.seeds="+f.seeds)
	}
	elsewhere, err := f.elsewhere.list(c)
	if err != nil {
		return nil, err
	}
	choice, err := eval.Choose(c.Catalog, c.args, f.config, sets, elsewhere...)
	var damaged *checkpoints.RefusedError
	switch {
	case errors.As(err, &damaged):
		return nil, err
	case err != nil:
		return nil, usage("%w", err)
	}
	defer choice.Close()
	for _, r := range choice.Runs {
		if at, err := train.ReadStanding(r.Dir); err == nil && !at.Finished() {
			fmt.Fprintf(c.errs, "%s is not finished (%s); to finish it: stoker resume %s\n", r.Dir, at.Status, shell.Quote(r.Dir))
		}
	}
	x := choice.Experiment
	if f.config != "" {
		c.renamed(x)
	}
	out := c.folder
	if out == "" {
		if len(choice.Runs) == 0 {
			return nil, usage("there is no run's folder: name a folder for the result with --out")
		}
		out = filepath.Join(choice.Runs[0].Dir, "eval")
		if len(c.args) > 0 && sweep.Is(c.args[0]) {
			out = filepath.Join(c.args[0], "eval")
		}
	}
	settings, err := choice.Settings()
	if err != nil {
		return nil, err
	}
	replaced, err := settings.May(out, f.force)
	if err != nil {
		return nil, err
	}
	if replaced != "" {
		fmt.Fprintln(c.errs, replaced)
	}
	if err := makeFolder(out); err != nil {
		return nil, err
	}
	s, p, err := f.play(c, choice)
	if err != nil {
		os.Remove(out) //nolint:errcheck // only where it is empty: nothing was written
		var sig stopped
		if errors.As(err, &sig) {
			fmt.Fprintf(c.errs, "stopped by %v: nothing is written\n", sig)
		}
		return nil, err
	}
	for _, o := range s.Out {
		if c.json {
			fmt.Fprintf(c.errs, "warning: %s\n", o)
		}
	}
	s.Settings, s.SettingsDigest = settings, settings.Digest()
	s.EnvConfig, s.Workload, s.Split = x.Env.Config, x.Workload, x.Eval.Split
	s.Command, s.Version, s.Revision = f.coordinator.plain(os.Args), Version(), revision()
	if err := eval.Write(out, p, s, curvesOf(c, choice)); err != nil {
		return nil, fmt.Errorf("writing %s: %w", out, err)
	}
	fmt.Fprintln(c, eval.TextAt(s, textWidth(c.out)))
	fmt.Fprintf(c, "report: %s\n", filepath.Join(out, eval.ReportFile))
	fmt.Fprintf(c, "data:   %s, %s\n", filepath.Join(out, eval.SummaryFile), filepath.Join(out, eval.ScoresFile))
	for _, fig := range s.Figures {
		if filepath.Ext(fig) == ".png" {
			fmt.Fprintf(c, "plot:   %s (and .svg, .pdf)\n", filepath.Join(out, fig))
		}
	}
	fmt.Fprintf(c, "redraw with: stoker plot %s\n", shell.Quote(out))
	return s, nil
}

// play runs the episodes and summarises them.
func (f *evalFlags) play(c *call, choice *eval.Choice) (s *eval.Summary, p *eval.Played, err error) {
	x := choice.Experiment
	seeds, err := configs.ParseSeeds(x.Eval.Seeds)
	if err != nil {
		return nil, nil, usage("eval.seeds: %w", err)
	}
	newEnv := func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }
	probe, err := newEnv()
	if err != nil {
		return nil, nil, err
	}
	analysis, err := eval.NewAnalysis(probe.Spec(), x.Eval)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	away, closed, err := f.coordinator.open(c)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	r := eval.Request{
		Away: away, Experiment: x,
		NewEnv: newEnv, Contestants: choice.Contestants, Seeds: seeds, Workers: perCore(f.workers),
		Stochastic: x.Eval.Stochastic, Traced: tracedSeeds, Progress: c.episodes(),
	}
	p, err = eval.Run(c.ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if s, err = eval.Summarise(p, analysis); err != nil {
		return nil, nil, err
	}
	if !f.noFrontier {
		r.Progress = c.episodes()
		if err := choice.Frontiers(c.ctx, r, p, s); err != nil {
			return nil, nil, err
		}
	}
	load, err := train.ReportLoad(probe, choice.TrainedLoads(), c.errs)
	if err != nil {
		return nil, nil, err
	}
	return s, p, s.SetLoad(p, load)
}

// curvesOf reads the learning curves of the runs evaluated. A run that has none yet is said, and costs the evaluation
// nothing else.
func curvesOf(c *call, choice *eval.Choice) []eval.Curve {
	metric := "rollout/ep_rew_mean"
	if e := choice.Experiment.Train.Evaluate; e.Every > 0 {
		metric = train.EvalMetric(e.Metric)
	}
	var out []eval.Curve
	for _, r := range choice.Runs {
		curve, err := eval.ReadCurve(r.Dir, r.Contestant, metric)
		if err != nil {
			fmt.Fprintf(c.errs, "no learning curve of %s: %v\n", r.Dir, err)
			continue
		}
		out = append(out, curve)
	}
	return out
}

// elsewhere names policies that were trained elsewhere.
type elsewhere struct {
	policies, groups []string
	foreign.Options
}

func (e *elsewhere) flags() []flag {
	e.Python, e.Timeout = "python3", 10*time.Second
	return []flag{
		option(repeated{&e.policies}, "policy", "`NAME=WHAT`, a policy that was trained elsewhere: x.stoker, x.onnx, "+
			"http[s]://HOST/v2/models/M, grpc[s]://HOST/M or cmd:COMMAND (repeatable)").by(namedPolicies),
		option(repeated{&e.groups}, "group", "`NAME`, or NAME=A,B: all of --policy, or A and B, are training seeds of one "+
			"method NAME (repeatable)"),
		option(&e.Python, "python", "the Python that runs ONNX files"),
		option(&e.Bind, "bind", "names in ONNX files and what they are, as in obs=observation,24=action"),
		option(&e.Timeout, "policy-timeout", "how long an answer of a policy of --policy may take"),
	}
}

// namedPolicies completes by the kinds of policies behind a name.
func namedPolicies(_ *call, prefix string) (out []string, _ cobra.ShellCompDirective) {
	name, _, ok := strings.Cut(prefix, "=")
	if !ok {
		return nil, goesOn
	}
	for _, what := range []string{"cmd:", "http://", "https://", "grpc://", "grpcs://"} {
		out = append(out, name+"="+what)
	}
	return out, orFiles
}

// list are the policies, by the names that groups give them.
func (e *elsewhere) list(c *call) ([]eval.Elsewhere, error) {
	if len(c.args) == 0 && len(e.policies) == 0 {
		return nil, usage("what to compare, a run, checkpoint or policy, is missing\nusage: %s", c.usage())
	}
	if len(e.policies) == 0 {
		return nil, c.without("is of policies of --policy, and there is none", "group", "python", "bind", "policy-timeout")
	}
	if e.Timeout <= 0 {
		return nil, usage("--policy-timeout: %v, want a time above 0, as in 10s", e.Timeout)
	}
	var out []eval.Elsewhere
	for _, text := range e.policies {
		name, what, ok := strings.Cut(text, "=")
		if !ok || name == "" || what == "" || strings.ContainsAny(name, "/:") {
			return nil, usage("--policy: %q, want NAME=WHAT, as in mine=x.onnx", text)
		}
		if slices.ContainsFunc(out, func(o eval.Elsewhere) bool { return o.Name == name }) {
			return nil, usage("--policy: %s is named twice; training seeds of one method have names of their own, and --group "+
				"joins them", name)
		}
		out = append(out, eval.Elsewhere{Name: name, What: what, Open: func(spec *envs.Spec) (*foreign.Policy, error) {
			return foreign.Open(c.ctx, what, spec, e.Options)
		}})
	}
	return out, e.join(out)
}

// join gives policies the names of their groups.
func (e *elsewhere) join(all []eval.Elsewhere) error {
	single := lists.Make(len(all), func(i int) string { return all[i].Name })
	for _, g := range e.groups {
		name, list, some := strings.Cut(g, "=")
		members := single
		if some {
			members = strings.Split(list, ",")
		}
		for _, m := range members {
			i := slices.Index(single, m)
			if i < 0 || name == "" {
				return usage("--group: %q, want NAME, or NAME=A,B of the policies %s", g, strings.Join(single, ", "))
			}
			all[i].Name = name
		}
	}
	return nil
}
