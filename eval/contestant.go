package eval

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// Contestant is a policy to be compared: one or more trained versions of it, or a single heuristic.
type Contestant struct {
	// Name labels it in tables and files.
	Name string
	Kind catalog.Kind
	// Versions has an entry per training seed; a heuristic has one.
	Versions []Version
	// NewEnv, where set, makes the environment that this contestant alone plays in, in place of the request's: another
	// pool, other prices. It is still paired with the others, since a workload seed draws the same world for all.
	NewEnv func() (envs.Env, error)
	// Stochastic lets this contestant draw its actions, whatever the request says.
	Stochastic bool
	// Foreign says that it was trained elsewhere: where it fails it is out, and the others play on.
	Foreign bool
}

// Version is one trained policy, or a heuristic.
type Version struct {
	// TrainingSeed is 0 for heuristics.
	TrainingSeed uint64
	// Source is the checkpoint it was read from, empty for heuristics.
	Source string
	// New makes an actor for env; each goroutine makes its own.
	New func(env envs.Env) (rollout.Actor, error)
	// Together, in place of New, acts in all episodes at once.
	Together Together
}

// Baseline is the policy of a name in the program's catalog as a contestant. A nil config means the policy's defaults.
func Baseline(label, name string, config any) (Contestant, error) {
	r, err := catalog.Default().Baseline(name)
	if err != nil {
		return Contestant{}, err
	}
	if config == nil {
		config = r.Config()
	}
	return BaselineOf(r, label, config), nil
}

// BaselineOf is a baseline of a catalog as a contestant.
func BaselineOf(r catalog.Baseline, label string, config any) Contestant {
	newActor := func(env envs.Env) (rollout.Actor, error) { return r.New(config, env) }
	return Contestant{Name: label, Kind: r.Kind, Versions: []Version{{New: newActor}}}
}

var kinds = []catalog.Kind{catalog.Learned, catalog.Heuristic, catalog.Oracle}

// check reports the first thing of a contestant that cannot be played.
func (c *Contestant) check() error {
	switch {
	case c.Name == "":
		return errors.New("a contestant has no name")
	case !slices.Contains(kinds, c.Kind):
		return fmt.Errorf("contestant %s is of kind %q, want one of %q", c.Name, c.Kind, kinds)
	case len(c.Versions) == 0:
		return fmt.Errorf("contestant %s has no versions, want one per training seed, or one", c.Name)
	}
	for i, v := range c.Versions {
		if (v.New == nil) == (v.Together == nil) {
			return fmt.Errorf("contestant %s, version %d: New is missing, or Together is there too", c.Name, i)
		}
		if slices.ContainsFunc(c.Versions[:i], func(o Version) bool { return o.TrainingSeed == v.TrainingSeed }) {
			return fmt.Errorf("contestant %s has training seed %d twice", c.Name, v.TrainingSeed)
		}
	}
	return nil
}

// versionName names a version in errors.
func (c *Contestant) versionName(v int) string {
	if len(c.Versions) == 1 {
		return c.Name
	}
	return fmt.Sprintf("%s, training seed %d", c.Name, c.Versions[v].TrainingSeed)
}

// Trained is a policy that was trained, with the experiment that it comes from.
type Trained struct {
	Checkpoint *checkpoints.Checkpoint
	Experiment *configs.Experiment
	File       *agents.PolicyFile
	// Source is zoo:NAME of a policy of the zoo.
	Source string
	// Threads is how many the policy acts with; 0 is the engine's default.
	Threads int
}

// OpenTrained reads the policy of a run (its best checkpoint), a checkpoint or the zoo (zoo:NAME), whose configuration
// names rows of a catalog. Settings such as eval.split=train are put over its configuration and over its eval.set.
func OpenTrained(names *catalog.Catalog, path string, sets []string) (*Trained, error) {
	ck, err := train.OpenCheckpoint(path)
	if err != nil {
		return nil, err
	}
	t := &Trained{Checkpoint: ck}
	read := func(sets []string) (*configs.Experiment, error) { return train.ReadExperiment(ck, sets, names) }
	if t.Experiment, err = inEvaluation(read, sets); err != nil {
		return nil, err
	}
	t.File, err = train.ReadPolicy(ck)
	return t, err
}

// inEvaluation reads an experiment with its eval.set, and with the caller's settings over that. Generated applications of
// its test part are others than those of training.
func inEvaluation(read func(sets []string) (*configs.Experiment, error), sets []string) (*configs.Experiment, error) {
	x, err := read(sets)
	if err == nil && len(x.Eval.Set) > 0 {
		x, err = read(append(slices.Clone(x.Eval.Set), sets...))
	}
	if err != nil {
		return nil, err
	}
	if c, ok := x.Env.Config.(interface{ Unseen() any }); ok && x.Eval.Split == "test" {
		x.Env.Config = c.Unseen()
	}
	return x, nil
}

// ShippedLike opens the policies of the zoo whose names begin so.
func ShippedLike(prefix string) (out []*Trained, err error) {
	for _, name := range zoo.Names() {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		t, err := Shipped(name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Shipped opens the policy of the zoo of a name; nil without an error where this program's zoo has none. It acts with one
// thread: a suite's workers play side by side.
func Shipped(name string) (*Trained, error) {
	if !slices.Contains(zoo.Names(), name) {
		return nil, nil //nolint:nilnil // a suite says that the policy is missing and plays on
	}
	t, err := OpenTrained(catalog.Default(), zoo.Prefix+name, nil)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", zoo.Prefix, name, err)
	}
	t.Source, t.Threads = zoo.Prefix+name, 1
	return t, nil
}

// Steps is how many steps the policy was trained for.
func (t *Trained) Steps() int64 { return t.Checkpoint.Header().Counters["steps"] }

// Policy makes the policy for an environment's spec, acting on the CPU.
func (t *Trained) Policy(spec *envs.Spec) (envs.Policy, error) {
	a, err := catalog.Of(t.Experiment).Learner(t.File.Agent)
	if err != nil {
		return nil, err
	}
	cpu, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: t.Threads})
	if err != nil {
		return nil, err
	}
	return a.Open(t.File, spec, cpu)
}

// Version is the policy as a version of a contestant; source says where it was read from.
func (t *Trained) Version(source string) Version {
	return Version{TrainingSeed: t.Experiment.Seed, Source: source, New: func(env envs.Env) (rollout.Actor, error) {
		p, err := t.Policy(env.Spec())
		return rollout.Actor{Policy: p}, err
	}}
}

// Contestant is a policy of the zoo in environments of its own.
func (t *Trained) Contestant(newEnv func() (envs.Env, error)) Contestant {
	return Contestant{Name: t.Source, Kind: catalog.Learned, Versions: []Version{t.Version(t.Source)}, NewEnv: newEnv}
}

// Misfit says why the policy can't act in an environment, empty where it can.
func (t *Trained) Misfit(newEnv func() (envs.Env, error)) string {
	env, err := newEnv()
	if err == nil {
		_, err = t.Policy(env.Spec())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Settings are what an evaluation's numbers depend on, by key: environment, workload, the section eval, and every
// policy. Evaluations with the same settings leave the same scores.
type Settings map[string]string

// Settings are those of the choice.
func (c *Choice) Settings() (Settings, error) {
	x := c.Experiment
	eval := x.Eval
	eval.Baselines = nil // each is listed as a policy
	m, err := configKeys(map[string]any{"env": x.Env.Config, "workload": x.Workload, "wrappers": x.Wrappers, "eval": eval})
	if err != nil {
		return nil, err
	}
	out := Settings{}
	flatten(out, "", m)
	out["env.id"] = x.Env.Name
	delete(out, "eval.baselines")
	for i, what := range c.played {
		out["policy "+c.Contestants[i].Name] = what
	}
	return out, nil
}

// note adds what a contestant is to the choice's settings.
func (c *Choice) note(contestant int, what string) {
	if contestant == len(c.played) {
		c.played = append(c.played, what)
		return
	}
	c.played[contestant] += ", " + what
}

// Digest is the same for the same settings.
func (s Settings) Digest() string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(h, "%q %q\n", k, s[k])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// differences from the settings there, a line each.
func (s Settings) differences(there Settings) []string {
	keys := maps.Clone(s)
	maps.Copy(keys, there)
	value := func(of Settings, k string) string {
		if v, ok := of[k]; ok {
			return v
		}
		return "nothing"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a, b := value(there, k), value(s, k); a != b {
			out = append(out, fmt.Sprintf("%s: %s there, %s now", k, a, b))
		}
	}
	return out
}

// listedDifferences is the most that an error names.
const listedDifferences = 8

// May reports whether an evaluation with the settings may be written to dir: nothing is there, or one with the same
// settings. Else it is refused with what differs; with force it may all the same, and replaced says what is lost.
func (s Settings) May(dir string, force bool) (replaced string, err error) {
	old, err := ReadSummary(dir)
	var why []string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		why = []string{err.Error()}
	case old.SettingsDigest == s.Digest():
		return "", nil
	case len(old.Settings) == 0:
		why = []string{"it was made by an older version, which did not record its settings"}
	default:
		why = s.differences(old.Settings)
	}
	if n := len(why); n > listedDifferences {
		why = append(why[:listedDifferences], fmt.Sprintf("and %d more", n-listedDifferences))
	}
	text := "\n  " + strings.Join(why, "\n  ")
	file := filepath.Join(dir, SummaryFile)
	if force {
		return fmt.Sprintf("replaces %s, an evaluation with other settings:%s", file, text), nil
	}
	return "", train.Usage("%s is of an evaluation with other settings, which is not overwritten:%s\n"+
		"Keep both with --out DIR, or replace it with --force.", file, text)
}

// named is what a group of runs, or of checkpoints, is called by.
type named struct {
	base   string         // the experiment's name
	folder string         // the run folder's name without the seed
	config map[string]any // as policyShape returns it
	plain  bool           // name it by no key whose value is a list
}

// mostKeys is the number of differing keys up to which a label names them.
const mostKeys = 3

// labelsOf names groups: by the experiment where no other group has it, else by the experiment and the keys in which
// groups of that experiment differ, as in "attmf actor_rate=1e-4". Where many keys differ, or none, the name is the run
// folder's. No name is given twice.
func labelsOf(groups []named) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		var same []named
		at := 0
		for j, o := range groups {
			if j == i {
				at = len(same)
			}
			if o.base == g.base {
				same = append(same, o)
			}
		}
		out[i] = labelAmong(same, at)
	}
	for i := range out {
		for n, name := 2, out[i]; slices.Contains(out[:i], out[i]); n++ {
			out[i] = fmt.Sprintf("%s-%d", name, n)
		}
	}
	return out
}

// labelAmong names group i among those of the same experiment.
func labelAmong(same []named, i int) string {
	if len(same) == 1 {
		return same[i].base
	}
	flat := make([]map[string]string, len(same))
	for k, g := range same {
		flat[k] = map[string]string{}
		flatten(flat[k], "", g.config)
	}
	var keys []string
	for k := range flat {
		keys = append(keys, slices.Collect(maps.Keys(differing(flat, k)))...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	own := differing(flat, i)
	if len(own) == 0 || len(own) > mostKeys {
		return same[i].folder
	}
	for _, value := range own {
		if same[i].plain && strings.HasPrefix(value, "[") {
			return same[i].folder
		}
	}
	label := same[i].base
	for _, k := range slices.Sorted(maps.Keys(own)) {
		label += " " + configs.ShortKey(k, keys) + "=" + own[k]
	}
	return label
}

// flatten lists the values of a configuration by their dotted keys.
func flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if path != "" {
				k = path + "." + k
			}
			flatten(out, k, x)
		}
	case json.Number:
		out[path] = shortNumber(v.String())
	case []any:
		b, err := json.Marshal(v)
		if err != nil { // it was JSON before
			b = fmt.Append(nil, v)
		}
		out[path] = string(b)
	default:
		if path != "" {
			out[path] = fmt.Sprint(v)
		}
	}
}

// shortNumber writes small and large numbers as people set them: 1e-4.
func shortNumber(s string) string {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || x == 0 || (math.Abs(x) >= 1e-3 && math.Abs(x) < 1e7) {
		return s
	}
	digits, power, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	n, err := strconv.Atoi(power)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%se%d", digits, n)
}

// differing are the keys and values of flat[i] where another has another value or none, the name of the experiment
// aside. Keys of an agent are compared with those of the same agent only.
func differing(flat []map[string]string, i int) map[string]string {
	const agent = "agent."
	out := map[string]string{}
	for k, x := range flat[i] {
		for _, other := range flat {
			another := strings.HasPrefix(k, agent) && k != agent+"name" && other[agent+"name"] != flat[i][agent+"name"]
			if y, ok := other[k]; k != "name" && len(other) > 0 && !another && (!ok || x != y) {
				out[k] = x
				break
			}
		}
	}
	return out
}
