package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// differences says in which of its results a plan would differ from an earlier one; none where it is the same sweep.
func (p *Plan) differences(was *Plan, names configs.Catalog) ([]string, error) {
	out, err := p.configDifferences(was, names)
	if err != nil {
		return nil, err
	}
	tell := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s was %s, is %s", what, was, is))
		}
	}
	tell("the list of keys", quoted(was.Keys()), quoted(p.Keys()))
	for _, a := range p.Grid {
		if i := slices.IndexFunc(was.Grid, func(o Axis) bool { return o.Key == a.Key }); i >= 0 {
			tell("--grid "+a.Key, strings.Join(was.Grid[i].Values, ","), strings.Join(a.Values, ","))
		}
	}
	for _, r := range p.Random {
		if i := slices.IndexFunc(was.Random, func(o Range) bool { return o.Key == r.Key }); i >= 0 {
			tell("--random "+r.Key, was.Random[i].Law.String(), r.Law.String())
		}
	}
	tell("--trials", fmt.Sprint(was.Trials), fmt.Sprint(p.Trials))
	if len(p.Random) > 0 {
		tell("--seed", fmt.Sprint(was.Seed), fmt.Sprint(p.Seed))
	}
	tell("--seeds", seedList(was.Seeds), seedList(p.Seeds))
	then, now := was.Study.flat(), p.Study.flat()
	for _, k := range studyKeys {
		tell("--"+strings.ReplaceAll(k, "_", "-"), cmp.Or(then[k], "not given"), cmp.Or(now[k], "not given"))
	}
	return out, nil
}

// configDifferences are those of the configurations over which the plans set values.
func (p *Plan) configDifferences(was *Plan, names configs.Catalog) ([]string, error) {
	var flat [2]map[string]string
	for i, q := range []*Plan{was, p} {
		x, err := q.Load(names)
		if err != nil {
			return nil, train.Usage("%w", err)
		}
		text, err := x.YAML()
		if err != nil {
			return nil, err
		}
		var v any
		if err := yaml.Load(text, &v); err != nil {
			return nil, err
		}
		flat[i] = map[string]string{}
		if err := flatten(flat[i], "", v); err != nil {
			return nil, err
		}
	}
	var out []string
	keys := slices.Sorted(maps.Keys(flat[0]))
	for k := range flat[1] {
		if _, ok := flat[0][k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		a, inOld := flat[0][k]
		b, inNew := flat[1][k]
		switch {
		case !inOld:
			out = append(out, fmt.Sprintf("%s was not set, is %s", k, b))
		case !inNew:
			out = append(out, fmt.Sprintf("%s was %s, is not set", k, a))
		case a != b:
			out = append(out, fmt.Sprintf("%s was %s, is %s", k, a, b))
		}
	}
	return out, nil
}

func flatten(out map[string]string, path string, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		b, err := json.Marshal(v)
		out[path] = string(b)
		return err
	}
	for k, x := range m {
		if path != "" {
			k = path + "." + k
		}
		if err := flatten(out, k, x); err != nil {
			return err
		}
	}
	return nil
}

// seedList writes seeds as --seeds takes them.
func seedList(seeds []uint64) string {
	var out []string
	for i := 0; i < len(seeds); {
		j := i
		for j+1 < len(seeds) && seeds[j+1] == seeds[j]+1 {
			j++
		}
		part := fmt.Sprint(seeds[i])
		if j > i {
			part += fmt.Sprintf("-%d", seeds[j])
		}
		out, i = append(out, part), j+1
	}
	return strings.Join(out, ",")
}

// extended is the union of an earlier plan and this one: more values, trials and seeds of the same keys.
func (p *Plan) extended(was *Plan, names configs.Catalog) (*Plan, error) {
	differ, err := p.configDifferences(was, names)
	if err != nil {
		return nil, err
	}
	if len(differ) > 0 {
		return nil, train.Usage("--extend adds values, trials and seeds only, but the configuration differs: %s",
			strings.Join(differ, "; "))
	}
	if a, b := slices.Sorted(slices.Values(was.Keys())), slices.Sorted(slices.Values(p.Keys())); !slices.Equal(a, b) {
		return nil, train.Usage("--extend adds values of the same keys, %s; the command has %s", quoted(a), quoted(b))
	}
	if was.Study != nil || p.Study != nil {
		return nil, train.Usage("--extend is for sweeps that train every arm to its end; %s is a study: begin another with --name",
			strings.Join(was.Keys(), ", "))
	}
	out := *was
	out.Metric, out.Grid = p.Metric, slices.Clone(was.Grid)
	for _, a := range p.Grid {
		i := slices.IndexFunc(out.Grid, func(o Axis) bool { return o.Key == a.Key })
		if i < 0 {
			return nil, train.Usage("--extend: %s was a --random key, is a --grid key", a.Key)
		}
		out.Grid[i].Values = slices.Clone(out.Grid[i].Values)
		for _, v := range a.Values {
			same := func(o string) bool { return canonical(o) == canonical(v) }
			if !slices.ContainsFunc(out.Grid[i].Values, same) {
				out.Grid[i].Values = append(out.Grid[i].Values, v)
			}
		}
	}
	for _, r := range p.Random {
		i := slices.IndexFunc(was.Random, func(o Range) bool { return o.Key == r.Key })
		if i < 0 || was.Random[i].Law.String() != r.Law.String() || was.Seed != p.Seed {
			return nil, train.Usage("--extend adds trials of the same ranges and --seed; %s or the seed differs", r.Key)
		}
	}
	out.Trials = max(out.Trials, p.Trials)
	out.Seeds = slices.Clone(was.Seeds)
	for _, s := range p.Seeds {
		if !slices.Contains(out.Seeds, s) {
			out.Seeds = append(out.Seeds, s)
		}
	}
	return &out, nil
}
