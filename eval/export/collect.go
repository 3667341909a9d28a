package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// Options say how a policy is collected.
type Options struct {
	// Eval is the folder of the evaluation; empty looks for it.
	Eval string
	// Force exports a policy that was never evaluated. What it sees is then met under the seeds of its configuration.
	Force bool
	// Fallback is the heuristic that acts where the policy must not; empty takes the environment's, [NoFallback] none.
	Fallback string
	// Progress, where set, is told after every episode how many of how many were played again.
	Progress func(done, all int)

	most int // seeds in each world, for tests; 0 is all
}

// Collected is a policy with all that leaves with it.
type Collected struct {
	// Name is that of its files.
	Name string
	// File is the bundle's content.
	File *bundle.File
	// Notes say what a user should know.
	Notes []string

	trained *eval.Trained
	world   *world // in which it was evaluated
}

// Collect reads the policy of a run (its best checkpoint), a checkpoint or the zoo (zoo:NAME), and its evaluation,
// which it plays again. What the caller got wrong is marked as train.ErrUsage.
func Collect(ctx context.Context, names *catalog.Catalog, path string, o Options) (*Collected, error) {
	if err := refuse(names, path); err != nil {
		return nil, err
	}
	t, err := eval.OpenTrained(names, path, nil)
	if err != nil {
		return nil, err
	}
	c := &Collected{Name: nameOf(path, t.Checkpoint), trained: t}
	r, why, err := findReport(t.Checkpoint, path, o.Eval)
	switch {
	case err != nil:
		return nil, err
	case r == nil && !o.Force:
		return nil, neverEvaluated(path, why)
	case r == nil:
		c.Notes = append(c.Notes, "exported without an evaluation: nothing is known of how well it does")
	}
	worlds, err := c.worlds(r, o.most)
	if err != nil {
		return nil, err
	}
	c.world = worlds[0]
	f := &bundle.File{Arrays: map[string]bundle.Array{}}
	f.Agent = bundle.Agent{Name: t.File.Agent, Env: t.File.EnvID, Description: t.File.Description}
	for name, a := range t.File.Arrays {
		f.Arrays[name] = bundle.Array{Shape: a.Shape, Data: a.Data}
	}
	if r != nil {
		if err := r.reduce(); err != nil {
			return nil, err
		}
		f.Evaluation.Evaluated = true
		if f.Evaluation.Report, err = json.Marshal(r); err != nil {
			return nil, err
		}
		if r.Stochastic {
			c.Notes = append(c.Notes, "evaluated with drawn actions; the exported policy takes the likeliest ones")
		}
	}
	if err := c.describe(f, worlds); err != nil {
		return nil, err
	}
	if f.Fallback, err = fallback(t.Experiment, o.Fallback, c.world.env); err != nil {
		return nil, err
	}
	f.Provenance, err = provenance(c.Name, t)
	if err != nil {
		return nil, err
	}
	f.Seen, f.SelfTest, err = watch(ctx, t, worlds, o.Progress)
	c.File = f
	return c, err
}

// describe fills in the environment and its spec: those of training, or of the evaluation where the agents are others
// there.
func (c *Collected) describe(f *bundle.File, worlds []*world) error {
	of := worlds[0]
	if last := worlds[len(worlds)-1]; sameAgents(of.spec, last.spec) {
		of = last
	}
	if err := dependent(of.spec); err != nil {
		return err
	}
	var err error
	if f.Spec, err = envs.EncodeSpec(of.spec); err != nil {
		return train.Usage("%s cannot be exported: %w", of.x.Env.Name, err)
	}
	f.Environment.ID = of.spec.ID
	config := of.x.Env.Config
	if p, ok := envs.As[portable](of.env); ok {
		config = p.Portable()
	}
	for _, s := range []struct {
		from any
		to   *json.RawMessage
	}{{config, &f.Environment.Config}, {of.x.Workload, &f.Environment.Workload}} {
		text, err := json.Marshal(s.from)
		if err != nil {
			return err
		}
		if *s.to, err = withoutPaths(text); err != nil {
			return err
		}
	}
	return nil
}

// portable is an environment whose configuration may name files. It writes a configuration that opens none and has
// everything that observations and masks take from the files.
type portable interface{ Portable() any }

// dependent refuses an environment whose legal choices follow from a Go function that no other program has.
func dependent(spec *envs.Spec) error {
	known := func(w policy.World) bool { return w.ID == spec.ID }
	for _, k := range spec.Kinds {
		if k.MaskAfter != nil && !slices.ContainsFunc(policy.Worlds(), known) {
			return train.Usage("%s cannot be exported: the legal choices of its %s follow from a Go function of the "+
				"environment, and a file has none. Give Kind.Mask and Points instead of Kind.MaskAfter, or serve it from a "+
				"program with a row in policy.Options.Worlds", spec.ID, k.Name)
		}
	}
	return nil
}

// refuse says why a name that is no trained policy's is not exported.
func refuse(names *catalog.Catalog, path string) error {
	if sweep.Is(path) {
		return train.Usage("%s is a sweep: export one of its runs, such as the first of its leaderboard.csv", path)
	}
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r, err := names.Baseline(path)
	if err != nil {
		return nil //nolint:nilerr // no baseline: who opens the path says what is wrong with it
	}
	what := "a rule or a tuner of the program, with nothing learned to export (a bundle may name a rule as its --fallback)"
	if r.Kind == catalog.Oracle {
		what = "a planner or an oracle: it is shown the environment itself, which nobody has on a platform"
	}
	return train.Usage("%s is %s. Give a run's folder, a checkpoint or a policy of the zoo", path, what)
}

// neverEvaluated is the refusal of a policy without an evaluation, with the commands that make one.
func neverEvaluated(path, why string) error {
	if why == "" {
		why = "no evaluation was found beside it; one that stoker eval wrote with --out FOLDER is named with --eval FOLDER"
	}
	command := fmt.Sprintf("stoker eval %s && stoker export %[1]s", path)
	if _, err := os.Stat(filepath.Join(path, checkpoints.MetricsFile)); err != nil { // not a run: no place for a result
		command = fmt.Sprintf("stoker eval %s --out evaluation && stoker export %[1]s --eval evaluation", path)
	}
	return train.Usage("%s is not exported: %s.\nIf it was never evaluated:   %s\nor export it all the same with --force", path,
		why, command)
}

// nameOf is what the files of the policy in path are called: the run or the policy of the zoo, with the step of a
// checkpoint that was named itself.
func nameOf(path string, ck *checkpoints.Checkpoint) string {
	if name, ok := zoo.Cut(path); ok {
		return name
	}
	dir := filepath.Clean(ck.Dir())
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	run := runOf(dir)
	named, err := filepath.Abs(path)
	switch {
	case run == "":
		return filepath.Base(dir)
	case err == nil && named == dir:
		return filepath.Base(run) + "-" + strings.TrimPrefix(filepath.Base(dir), "step-")
	}
	return filepath.Base(run)
}

// NoFallback in place of a heuristic's name leaves the bundle without one.
const NoFallback = "none"

// fallback is the rule of a name, or the first that acts in the environment, with the configuration that the
// experiment's evaluation gives it, else with its defaults. It is nil where there is none.
func fallback(x *configs.Experiment, name string, env envs.Env) (*bundle.Fallback, error) {
	var rows, able []string
	for _, f := range policy.FallbacksOf(x.Env.Name) {
		rows = append(rows, f.Name)
		if _, err := f.New(nil, env); err == nil {
			able = append(able, f.Name)
		}
	}
	switch {
	case name == NoFallback, name == "" && len(able) == 0:
		return nil, nil //nolint:nilnil // a bundle need not have one
	case name == "":
		name = able[0]
	case len(rows) == 0:
		return nil, train.Usage("--fallback: no rule can act in a policy's place in %s; want %s", x.Env.Name, NoFallback)
	case !slices.Contains(rows, name):
		return nil, train.Usage("--fallback is %q, want one for %s: %s, or %s", name, x.Env.Name, strings.Join(rows, ", "),
			NoFallback)
	}
	r, err := catalog.Of(x).Baseline(name)
	if err != nil {
		return nil, err
	}
	config := r.Config()
	if i := slices.IndexFunc(x.Eval.Baselines, func(c configs.Choice) bool { return c.Name == name }); i >= 0 {
		config = x.Eval.Baselines[i].Config
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &bundle.Fallback{Name: name, Config: text}, nil
}

// Fallbacks are the names of the rules that can be named for any environment, for completion.
func Fallbacks() []string {
	return append([]string{NoFallback}, lists.From(policy.Fallbacks(), func(f policy.Fallback) string { return f.Name })...)
}

// provenance says where a policy comes from, by its checkpoint and its run.
func provenance(name string, t *eval.Trained) (bundle.Provenance, error) {
	h := t.Checkpoint.Header()
	p := bundle.Provenance{Name: name, Kernels: h.Kernels, Seeds: []uint64{t.Experiment.Seed}, Steps: t.Steps(),
		Revision: h.CreatedBy}
	if r := revisionOf(runOf(t.Checkpoint.Dir()), t.Steps()); r != "" {
		p.Revision = r
	}
	var err error
	if p.Config, err = withoutPaths(h.Config); err != nil {
		return p, err
	}
	p.Trace, err = traceOf(t.Experiment)
	return p, err
}

// revisionOf is the revision of the program that brought a run to a step, by its run.json; empty where that does not
// say it.
func revisionOf(run string, step int64) (revision string) {
	b, err := os.ReadFile(filepath.Join(run, checkpoints.RunFile))
	if run == "" || err != nil {
		return ""
	}
	var d struct {
		Sessions []struct {
			Revision string `json:"revision"`
			From     int64  `json:"from"`
		} `json:"sessions"`
	}
	if json.Unmarshal(b, &d) != nil {
		return ""
	}
	for _, s := range d.Sessions { // a session after the checkpoint begins at its step or later
		if s.From < step && s.Revision != "unknown" {
			revision = s.Revision
		}
	}
	return revision
}

// traceOf is the digest of the trace that an experiment's environment reads, empty where it reads none.
func traceOf(x *configs.Experiment) (string, error) {
	digest, err := workload.TraceDigest(x.Workload)
	if err != nil || digest == "" {
		return "", err
	}
	// The section may name a trace that the environment does not read: then it opens without that trace too.
	y := *x
	y.Workload.Path = filepath.Join(os.DevNull, "no trace")
	y.Workload.Draw = workload.Draw{}
	if _, err := train.NewEnv(&y, ""); err == nil {
		return "", nil
	}
	return digest, nil
}

// Text says for people what was collected and written.
func (c *Collected) Text(files []Written) string {
	var b strings.Builder
	p := c.File.Provenance
	fmt.Fprintf(&b, "%s: %s in %s, seed %s, %d steps\n", c.Name, c.File.Agent.Name, c.File.Environment.ID, list(p.Seeds),
		p.Steps)
	fmt.Fprintf(&b, "evaluation: %s\n", evaluation(c.File).Detail)
	if f := c.File.Fallback; f != nil {
		fmt.Fprintf(&b, "fallback: %s\n", f.Name)
	} else {
		fmt.Fprintf(&b, "fallback: none; where the policy must not decide, nothing decides\n")
	}
	for _, f := range files {
		what := "wrote"
		if f.Unchanged {
			what = "unchanged"
		}
		fmt.Fprintf(&b, "%s %s (%s, %d kB, sha256:%s)\n", what, f.File, f.Format, (f.Bytes+999)/1000, f.Digest)
		if a := f.Agreement; a != nil {
			fmt.Fprintf(&b, "  opened again: %d observations, %d unequal actions, largest difference %.2g, "+
				"%d decided by the fallback\n",
				a.Observations, a.Unequal, a.Largest, a.Fallbacks)
		}
	}
	for _, f := range files {
		if f.Format == Bundle {
			fmt.Fprintf(&b, "look inside: stoker check %s\n", f.File)
		}
	}
	return b.String()
}
