package sweep

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// Plan is what a sweep is asked for. Together with the program's version it decides every byte of the runs.
type Plan struct {
	// Config is the path of the configuration as it was given, Text what stands in that file.
	Config string `json:"config"`
	Text   string `json:"text"`
	// Folder is where the command was given: relative paths of data start there.
	Folder string `json:"folder"`
	// Set are settings KEY=VALUE over the configuration, the same for all arms.
	Set []string `json:"set,omitempty"`
	// Grid and Random are the keys that are varied. An arm has one value of each axis of the grid and, where there are
	// random ranges, those of one trial.
	Grid   []Axis  `json:"grid,omitempty"`
	Random []Range `json:"random,omitempty"`
	// Trials is the number of draws from the ranges, Seed that of the draws.
	Trials int    `json:"trials,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Seeds are the training seeds of every arm.
	Seeds []uint64 `json:"seeds"`
	// Metric is what the arms are ranked by; it changes no run.
	Metric string `json:"metric"`
	// Study, where set, is how trials are scored, proposed and stopped early.
	Study *Study `json:"study,omitempty"`
}

// Axis is a key with the values that it takes, each written as behind --set KEY=.
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Range is a key with the law from which its values are drawn, such as log(1e-5,1e-2).
type Range struct {
	Key string `json:"key"`
	Law Law    `json:"law"`
}

// Keys are the keys that are varied, in their order.
func (p *Plan) Keys() []string {
	var out []string
	for _, a := range p.Grid {
		out = append(out, a.Key)
	}
	for _, r := range p.Random {
		out = append(out, r.Key)
	}
	return out
}

// Load reads the configuration with the plan's settings and more over it.
func (p *Plan) Load(names configs.Catalog, more ...string) (*configs.Experiment, error) {
	x, err := configs.Parse(p.Config, []byte(p.Text), slices.Concat(p.Set, more), names)
	if err != nil {
		return nil, err
	}
	return train.In(x, p.Folder)
}

// fixed are the keys that a sweep does not vary, and why. One that ends with a dot stands for all below it.
var fixed = []struct{ key, why string }{
	{"seed", "the training seeds are those of --seeds"},
	{"name", "it changes no run; name the sweep with --name"},
	{"env.id", "results in different environments can't be ranked; make a sweep for each"},
	{"eval.", "it changes the comparison after training, not the training"},
	{"train.evaluate.metric", "all arms are ranked by one metric; see --metric"},
	{"train.log_every", "it changes no policy"},
	{"train.checkpoint.", "it changes no policy"},
}

// check reports what is wrong with a plan before any value is looked at.
func (p *Plan) check() error {
	keys := p.Keys()
	if len(keys) == 0 {
		return train.Usage("nothing is varied: give --grid KEY=VALUE,VALUE or --random KEY=LAW, " +
			"as in --grid agent.actor_rate=1e-4,3e-4")
	}
	for i, k := range keys {
		for _, f := range fixed {
			if k == f.key || (strings.HasSuffix(f.key, ".") && strings.HasPrefix(k, f.key)) {
				return train.Usage("key %s can't be varied: %s", k, f.why)
			}
		}
		if slices.Contains(keys[:i], k) {
			return train.Usage("key %s is varied twice, want all of its values in one --grid or --random", k)
		}
		for _, s := range p.Set {
			if set, _, _ := strings.Cut(s, "="); set == k {
				return train.Usage("key %s is given by --set and varied, want one of them", k)
			}
		}
	}
	switch {
	case len(p.Random) > 0 && p.Trials < 1:
		return train.Usage("--random needs --trials, the number of draws, as in --trials 20; it is %d", p.Trials)
	case len(p.Random) == 0 && p.Trials != 0:
		return train.Usage("--trials is given without --random, want both")
	case len(p.Seeds) == 0:
		return train.Usage("there are no training seeds, want --seeds 1-2 or so")
	}
	return nil
}

// Name is the sweep's name where none is given: the experiment's and the keys'.
func (p *Plan) Name(x *configs.Experiment) string {
	name := x.Name
	for _, k := range p.Keys() {
		name += "-" + configs.ShortKey(k, p.Keys())
	}
	if len(name) > 90 {
		return x.Name + "-sweep"
	}
	return name
}

func quoted(v []string) string { return fmt.Sprintf("[%s]", strings.Join(v, ", ")) }

// Setting is a key's value, as --set takes it.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String is KEY=VALUE.
func (s Setting) String() string { return s.Key + "=" + s.Value }

// Arm is one combination of values, trained with every seed.
type Arm struct {
	// Name is the beginning of its run folders' names. It depends on the settings alone.
	Name     string    `json:"name"`
	Settings []Setting `json:"settings"`
	// Steps is the number of environment steps of one run.
	Steps int64 `json:"steps"`
	Runs  []Run `json:"runs"`
}

// sets are the arm's settings as --set takes them.
func sets(list []Setting) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return out
}

// maxArms bounds a sweep, so that a slip of the finger doesn't start a year of work.
const maxArms = 10_000

// Arms checks a plan, every value against what its key may be, and returns its arms: the product of the grid's axes and
// of the random trials, the first axis changing slowest. Trials that draw what an earlier one drew are left out. What is
// wrong is marked as train.ErrUsage.
func (p *Plan) Arms(names configs.Catalog) ([]Arm, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	x, err := p.Load(names)
	if err != nil {
		return nil, train.Usage("%w", err)
	}
	if err := p.Study.check(p, x); err != nil {
		return nil, err
	}
	combos, err := p.combinations()
	if err != nil {
		return nil, err
	}
	for _, r := range p.Random { // all that could be drawn, not only what was
		for _, v := range r.Law.edges() {
			edge := slices.Clone(combos[0])
			at := slices.IndexFunc(edge, func(s Setting) bool { return s.Key == r.Key })
			edge[at].Value = v
			if _, err := p.Load(names, sets(edge)...); err != nil {
				return nil, p.blame(names, edge, err)
			}
		}
	}
	if p.Study.Outside() {
		return nil, nil
	}
	out, named := make([]Arm, len(combos)), map[string][]Setting{}
	for i, c := range combos {
		if out[i], err = p.arm(c, names); err != nil {
			return nil, err
		}
		if o, ok := named[out[i].Name]; ok {
			return nil, train.Usage("two arms are the same: %s and %s", strings.Join(sets(o), " "), strings.Join(sets(c), " "))
		}
		named[out[i].Name] = c
	}
	return out, nil
}

// arm checks settings and returns their arm.
func (p *Plan) arm(c []Setting, names configs.Catalog) (Arm, error) {
	x, err := p.Load(names, sets(c)...)
	if err != nil {
		return Arm{}, p.blame(names, c, err)
	}
	a := Arm{Name: p.armName(c), Settings: c, Steps: x.Train.Steps}
	for _, s := range p.Seeds {
		a.Runs = append(a.Runs, Run{Seed: s, Folder: fmt.Sprintf("%s-s%d", a.Name, s), Status: Waiting})
	}
	return a, nil
}

// combinations are the settings of the arms.
func (p *Plan) combinations() ([][]Setting, error) {
	out := [][]Setting{nil}
	for _, a := range p.Grid {
		for i, v := range a.Values {
			for _, o := range a.Values[:i] {
				if canonical(o) == canonical(v) {
					return nil, train.Usage("--grid %s names the value %s twice: %s", a.Key, v, strings.Join(a.Values, ","))
				}
			}
		}
		var next [][]Setting
		for _, c := range out {
			for _, v := range a.Values {
				next = append(next, append(slices.Clone(c), Setting{a.Key, v}))
			}
		}
		if out = next; len(out) > maxArms {
			return nil, tooMany()
		}
	}
	if len(p.Random) == 0 {
		return out, nil
	}
	if p.Trials > maxArms || len(out)*p.Trials > maxArms {
		return nil, tooMany()
	}
	var all [][]Setting
	trials := p.trials()
	for _, c := range out {
		for _, t := range trials {
			all = append(all, slices.Concat(c, t))
		}
	}
	return all, nil
}

func tooMany() error {
	return train.Usage("the sweep has more than %d arms: vary fewer keys or values, draw some with --random, or ask for fewer --trials", maxArms)
}

// trials are the distinct draws. A draw is a function of seed, key and trial: it does not change with the number of
// trials or with the other keys.
func (p *Plan) trials() [][]Setting {
	var out [][]Setting
	seen := map[string]bool{}
	if p.Study != nil && p.Study.Propose == Halton {
		for _, draw := range p.haltonTrials() {
			if id := strings.Join(sets(draw), "\n"); !seen[id] {
				seen[id] = true
				out = append(out, draw)
			}
		}
		return out
	}
	for t := range p.Trials {
		var draw []Setting
		id := ""
		for _, r := range p.Random {
			v := r.Law.draw(rng.New(p.Seed, "sweep "+r.Key).With(uint64(t)))
			draw = append(draw, Setting{r.Key, v})
			id += canonical(v) + "\n"
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, draw)
		}
	}
	return out
}

// canonical is the same for values that are the same number.
func canonical(v string) string {
	if x, err := strconv.ParseFloat(v, 64); err == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strings.ReplaceAll(v, " ", "")
}

// armName is a folder's name for settings, as in actor_rate-1e-4_gamma-0.99. Where characters were lost, or it is too
// long, a digest of the settings makes it unique.
func (p *Plan) armName(list []Setting) string {
	var parts []string
	lossy := false
	for _, s := range list {
		value := strings.NewReplacer("[", "", "]", "", " ", "", "\"", "", "'", "", ",", "-", "+", "").Replace(s.Value)
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune("._-", r) || (r < 128 && (r >= '0' && r <= '9' || r|32 >= 'a' && r|32 <= 'z')) {
				return r
			}
			return '-'
		}, value)
		lossy = lossy || plain != value || plain == "" || strings.Contains(s.Value, "[[")
		parts = append(parts, configs.ShortKey(s.Key, p.Keys())+"-"+plain)
	}
	name := strings.Join(parts, "_")
	if lossy || len(name) > 70 {
		sum := sha256.Sum256([]byte(strings.Join(sets(list), "\n")))
		name = fmt.Sprintf("%.70s-%x", name, sum[:4])
	}
	return name
}

// blame says which settings are wrong: all values of the grid, and those of the arm's draws, that are wrong by
// themselves where there are any, else the arm's combination.
func (p *Plan) blame(names configs.Catalog, list []Setting, all error) error {
	var each []Setting
	for _, a := range p.Grid {
		for _, v := range a.Values {
			each = append(each, Setting{a.Key, v})
		}
	}
	for _, s := range list {
		if p.flag(s.Key) == "--random" {
			each = append(each, s)
		}
	}
	var wrong, keys []string
	for _, s := range each {
		if slices.Contains(keys, s.Key) {
			continue
		}
		if _, err := p.Load(names, s.String()); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s %s: %s", p.flag(s.Key), s, said(err)))
			if strings.Contains(said(err), "unknown key") { // its other values have the same mistake
				keys = append(keys, s.Key)
			}
		}
	}
	if len(wrong) > 0 {
		return train.Usage("%s", strings.Join(wrong, "\n"))
	}
	return train.Usage("together %s: %s", strings.Join(sets(list), " "), said(all))
}

func (p *Plan) flag(key string) string {
	if slices.ContainsFunc(p.Random, func(r Range) bool { return r.Key == key }) {
		return "--random"
	}
	return "--grid"
}

// said is what a configuration's error says, without where: the settings come from the sweep.
func said(err error) string {
	var bad *configs.Error
	if !errors.As(err, &bad) {
		return err.Error()
	}
	var out []string
	for _, problem := range bad.Problems {
		text := problem.Text
		if rest, ok := strings.CutPrefix(text, "--set "); ok {
			_, text, _ = strings.Cut(rest, ": ")
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
