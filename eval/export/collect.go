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
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
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
	r, err := names.Rival(path)
	if err != nil {
		return nil //nolint:nilerr // no rival: who opens the path says what is wrong with it
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
