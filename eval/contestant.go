package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
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

	away *away // nil where workers can't make it
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
	return Contestant{Name: label, Kind: r.Kind, Versions: []Version{{New: newActor, away: &away{baseline: r.Name, config: config}}}}
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
	case nil: // a list that a file leaves out; a checkpoint has it empty
		out[path] = "[]"
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
