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
	if _, err := p.Load(names); err != nil {
		return nil, train.Usage("%w", err)
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
	out, named := make([]Arm, len(combos)), map[string][]Setting{}
	for i, c := range combos {
		x, err := p.Load(names, sets(c)...)
		if err != nil {
			return nil, p.blame(names, c, err)
		}
		out[i] = Arm{Name: p.armName(c), Settings: c, Steps: x.Train.Steps}
		if o, ok := named[out[i].Name]; ok {
			return nil, train.Usage("two arms are the same: %s and %s", strings.Join(sets(o), " "), strings.Join(sets(c), " "))
		}
		named[out[i].Name] = c
		for _, s := range p.Seeds {
			out[i].Runs = append(out[i].Runs, Run{Seed: s, Folder: fmt.Sprintf("%s-s%d", out[i].Name, s), Status: Waiting})
		}
	}
	return out, nil
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
	return train.Usage("the sweep has more than %d arms: vary fewer keys or values, or draw some with --random", maxArms)
}

// trials are the distinct draws. A draw is a function of seed, key and trial: it does not change with the number of
// trials or with the other keys.
func (p *Plan) trials() [][]Setting {
	var out [][]Setting
	seen := map[string]bool{}
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
