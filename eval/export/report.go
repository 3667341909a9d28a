package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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
	"github.com/stoker-rl/stoker/train"
)

// report is an eval.json as far as a bundle has it. Rows are kept as they are written.
type report struct {
	// Policy is the policy's name in it.
	Policy      string          `json:"policy"`
	Env         string          `json:"env,omitempty"`
	EnvConfig   json.RawMessage `json:"env_config"`
	Workload    json.RawMessage `json:"workload"`
	Split       string          `json:"split"`
	Seeds       []uint64        `json:"seeds"`
	Stochastic  bool            `json:"stochastic"`
	Summary     string          `json:"summary,omitempty"`
	Statistic   string          `json:"statistic"`
	Objective   string          `json:"objective,omitempty"`
	Constraint  string          `json:"constraint,omitempty"`
	Relative    float64         `json:"relative_tolerance,omitempty"`
	Metrics     json.RawMessage `json:"metrics"`
	Policies    []reportRow     `json:"policies"`
	Comparisons []reportRow     `json:"comparisons"`
	Verdicts    []reportRow     `json:"verdicts,omitempty"`
	// Settings say which checkpoints were played; they have paths of a machine, and no bundle has them.
	Settings map[string]string `json:"settings,omitempty"`
	Digest   string            `json:"settings_digest,omitempty"`
	Revision string            `json:"revision,omitempty"`
}

// reportRow is a policy's row, or a comparison of policies a and b.
type reportRow map[string]json.RawMessage

// text is a row's value of a key that has a text, empty where it has none.
func (r reportRow) text(key string) (s string) {
	if json.Unmarshal(r[key], &s) != nil {
		return ""
	}
	return s
}

// readReport reads an eval.json and finds the policy's name in it: the one that plays the checkpoint of an id. ok is
// whether it is there.
func readReport(text []byte, id string) (r *report, ok bool, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, false, fmt.Errorf("is not an eval.json: %w", err)
	}
	for key, played := range r.Settings {
		name, is := strings.CutPrefix(key, "policy ")
		if is && strings.Contains(played, "("+id[:12]+")") {
			r.Policy, ok = name, true
		}
	}
	return r, ok, nil
}

// reduce leaves the policy's own row, and its comparisons and verdicts, without anything of the machine.
func (r *report) reduce() error {
	r.Settings = nil
	r.Policies = slices.DeleteFunc(r.Policies, func(p reportRow) bool { return p.text("name") != r.Policy })
	if len(r.Policies) == 0 {
		return fmt.Errorf("the evaluation has no row of %s", r.Policy)
	}
	for _, p := range r.Policies {
		delete(p, "sources")
	}
	others := func(c reportRow) bool { return c.text("a") != r.Policy && c.text("b") != r.Policy }
	r.Comparisons = slices.DeleteFunc(r.Comparisons, others)
	r.Verdicts = slices.DeleteFunc(r.Verdicts, others)
	var err error
	if r.EnvConfig, err = withoutPaths(r.EnvConfig); err == nil {
		r.Workload, err = withoutPaths(r.Workload)
	}
	return err
}

// withoutPaths is a JSON text in which a path that leads out of the working folder is replaced by its last part: where
// data lie on a machine is nobody's business elsewhere.
func withoutPaths(text []byte) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(eachText(tree, func(s string) string {
		if filepath.IsAbs(s) || strings.HasPrefix(s, "..") && strings.ContainsAny(s, `/\`) {
			return filepath.Base(s)
		}
		return s
	}))
}

// eachText is a JSON value in which f has replaced every text that is no key.
func eachText(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachText(v[k], f)
		}
	}
	return v
}

// readBack is the report that a bundle holds, nil where the policy was never evaluated.
func readBack(f *bundle.File) (*report, error) {
	if !f.Evaluation.Evaluated || len(f.Evaluation.Report) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	r := &report{}
	return r, json.Unmarshal(f.Evaluation.Report, r)
}

// findReport finds the evaluation of the policy in path: in the folder named, else on the card of a policy of the zoo,
// else in the run's folder eval, its sweep's, or that of a run beside it. It is nil where there is none; why then says
// what was found instead.
func findReport(ck *checkpoints.Checkpoint, path, folder string) (r *report, why string, err error) {
	if name, ok := zoo.Cut(path); ok && folder == "" {
		r, err = cardReport(name)
		return r, "", err
	}
	if folder != "" {
		r, ok, err := readFolder(folder, ck)
		switch {
		case err != nil:
			return nil, "", train.Usage("--eval: %w", err)
		case !ok:
			return nil, "", train.Usage("--eval: %s does not evaluate this policy, %s at step %d (%.12s)", folder, path,
				stepsOf(ck), ck.ID())
		}
		return r, "", nil
	}
	run := runOf(ck.Dir())
	if run == "" {
		return nil, "", nil
	}
	if run, err = filepath.Abs(run); err != nil { // run may be ".", and what lies beside it is looked at too
		return nil, "", err
	}
	own := filepath.Join(run, "eval")
	folders := []string{own, filepath.Join(filepath.Dir(run), "eval")}
	// Runs that differ by their seed are evaluated together, in the folder of the first.
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(run), "*", "eval"))
	if err != nil {
		beside = nil // the folder's name has a sign of a pattern
	}
	for _, folder := range append(folders, beside...) {
		r, ok, err := readFolder(folder, ck)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err != nil && folder != own:
			continue
		case err != nil:
			return nil, "", err
		case ok:
			return r, "", nil
		}
		if folder == own {
			file := filepath.Join(own, eval.SummaryFile)
			why = fmt.Sprintf("%s is of another checkpoint than this one, at step %d (%.12s)", file, stepsOf(ck), ck.ID())
			if len(r.Settings) == 0 {
				why = file + " was made by an older version, which did not record its settings"
			}
		}
	}
	return nil, why, nil
}

// readFolder reads an evaluation's folder; ok is whether it has the checkpoint.
func readFolder(folder string, ck *checkpoints.Checkpoint) (r *report, ok bool, err error) {
	file := filepath.Join(folder, eval.SummaryFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, fmt.Errorf("%s is not an evaluation: %w", folder, err)
	}
	if r, ok, err = readReport(text, ck.ID()); err != nil {
		return nil, false, fmt.Errorf("%s: %w", file, err)
	}
	return r, ok, nil
}

// cardReport is the first evaluation on a zoo policy's card; nil where there is none.
func cardReport(name string) (*report, error) {
	card, err := zoo.ReadCard(name)
	if err != nil || len(card.Evaluations) == 0 {
		return nil, err
	}
	text, err := json.Marshal(card.Evaluations[0])
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	var x struct {
		Eval struct {
			Stochastic bool `json:"stochastic"`
		} `json:"eval"`
	}
	r.Env = card.Env
	err = json.Unmarshal(card.Config, &x)
	r.Stochastic = x.Eval.Stochastic
	return r, err
}

// runOf is the run's folder of a checkpoint in it, empty for a checkpoint that lies elsewhere.
func runOf(dir string) string {
	if _, ok := zoo.Cut(dir); ok {
		return ""
	}
	if store := filepath.Dir(filepath.Clean(dir)); filepath.Base(store) == checkpoints.CheckpointsDir {
		return filepath.Dir(store)
	}
	return ""
}

func stepsOf(ck *checkpoints.Checkpoint) int64 { return ck.Header().Counters["steps"] }

// world is where the policy is played again.
type world struct {
	x          *configs.Experiment
	split      string
	seeds      []uint64
	stochastic bool
	env        envs.Env
	spec       *envs.Spec
}

// trainingSeeds is the most seeds of the evaluation under which the policy is played in its training's environment too.
const trainingSeeds = 20

// worlds are the evaluation's, then the training's where it differs: a policy must be able to see what it has learned
// on, such as a dial that the evaluation held.
func (c *Collected) worlds(r *report, most int) (all []*world, err error) {
	defer func() {
		for _, w := range all {
			if most > 0 {
				w.seeds = w.seeds[:min(len(w.seeds), most)]
			}
		}
	}()
	x := c.trained.Experiment
	learned := &world{x: x, split: x.Workload.Split, stochastic: x.Eval.Stochastic}
	if learned.split == "all" {
		learned.split = "train"
	}
	if r == nil {
		learned.split = x.Eval.Split
		if learned.seeds, err = configs.ParseSeeds(x.Eval.Seeds); err != nil {
			return nil, err
		}
		return []*world{learned}, learned.open()
	}
	judged, err := r.world(x)
	if err != nil {
		return nil, err
	}
	if err := judged.open(); err != nil {
		return nil, err
	}
	same, err := judged.same(x)
	if err != nil || same {
		return []*world{judged}, err
	}
	learned.seeds = judged.seeds[:min(len(judged.seeds), trainingSeeds)]
	if err := learned.open(); err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("not played in its training's environment: %v", err))
		return []*world{judged}, nil
	}
	if !newWatcher(judged.spec).fits(learned.spec) {
		return []*world{judged}, nil // features of other widths have no ranges in common
	}
	return []*world{judged, learned}, nil
}

// world is that of the evaluation: the experiment with the evaluation's environment and workload.
func (r *report) world(x *configs.Experiment) (*world, error) {
	y := *x
	row, err := catalog.Of(x).Env(x.Env.Name)
	if err != nil {
		return nil, err
	}
	if r.Env != "" && r.Env != x.Env.Name {
		return nil, train.Usage("the evaluation is in %s, the policy acts in %s", r.Env, x.Env.Name)
	}
	y.Env.Config = row.Config()
	if err := json.Unmarshal(r.EnvConfig, y.Env.Config); err != nil {
		return nil, fmt.Errorf("the evaluation's environment: %w", err)
	}
	y.Workload = workload.Default() // for what the section leaves out
	if err := json.Unmarshal(r.Workload, &y.Workload); err != nil {
		return nil, fmt.Errorf("the evaluation's workload: %w", err)
	}
	if err := y.Validate(); err != nil {
		return nil, fmt.Errorf("the evaluation's configuration: %w", err)
	}
	if len(r.Seeds) == 0 {
		return nil, fmt.Errorf("the evaluation has no seeds")
	}
	return &world{x: &y, split: r.Split, seeds: r.Seeds, stochastic: r.Stochastic}, nil
}

func (w *world) open() error {
	var err error
	if w.env, err = train.NewEnv(w.x, w.split); err != nil {
		return err
	}
	w.spec = w.env.Spec()
	return nil
}

// same reports whether the world has the environment and the load of an experiment. Which part of a trace is played,
// and where it lies, does not count.
func (w *world) same(x *configs.Experiment) (bool, error) {
	text := func(x *configs.Experiment) (string, error) {
		load, err := x.Workload.EachPath(func(string) (string, error) { return "", nil })
		if err != nil {
			return "", err
		}
		load.Split = ""
		b, err := json.Marshal([]any{x.Env.Config, load})
		return string(b), err
	}
	a, err := text(w.x)
	if err != nil {
		return false, err
	}
	b, err := text(x)
	return a == b, err
}

// sameAgents reports whether two specs have the same agents: their numbers, names, spaces and neighbours.
func sameAgents(a, b *envs.Spec) bool {
	return slices.EqualFunc(a.Kinds, b.Kinds, func(p, q envs.Kind) bool {
		return p.Name == q.Name && p.Agents == q.Agents && slices.Equal(p.Names, q.Names) &&
			reflect.DeepEqual(p.Observation, q.Observation) && reflect.DeepEqual(p.Action, q.Action) &&
			reflect.DeepEqual(p.Neighbours, q.Neighbours) && reflect.DeepEqual(p.Next, q.Next)
	})
}
