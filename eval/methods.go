package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/train"
)

// Method is a way of acting, with the policies that are settings of it: autoscaler with those of several cpu.
type Method struct {
	Name     string       `json:"name"`
	Kind     catalog.Kind `json:"kind"`
	Policies []string     `json:"policies"`
}

// frontierLevels are the shares of violated windows at which prices are compared.
var frontierLevels = []float64{0.02, 0.05, 0.1}

// frontierResamples is the number of bootstrap resamples of frontiers.
const frontierResamples = 2000

// learnedSettings is the number of values of the dial under which a learned policy plays.
const learnedSettings = 4

// asItIs names the setting of what has no dial.
const asItIs = "as it is"

// setting is one policy of a method.
type setting struct {
	method, name string
	contestant   Contestant
}

// Frontiers plays every method with a dial under several settings of it, beside what p has of them, and puts the price at
// equal violations into s. It does nothing where constraint and objective are not both better lower, or where no method
// has a dial.
func (c *Choice) Frontiers(ctx context.Context, r Request, p *Played, s *Summary) error {
	m, o := s.metric(s.Constraint), s.metric(s.Objective)
	if low, _ := o.Bounds.Limits(); m.Better != envs.Lower || o.Better != envs.Lower || low != 0 ||
		o.Name == ReturnMetric.Name || m.Name == ReturnMetric.Name {
		return nil
	}
	probe, err := r.NewEnv()
	if err != nil {
		return err
	}
	own, more, err := c.settings(probe)
	if err != nil || len(more) == 0 {
		return err
	}
	r.Traced, r.Contestants = 0, nil
	for _, x := range more {
		r.Contestants = append(r.Contestants, x.contestant)
	}
	extra, err := Run(ctx, r)
	if err != nil {
		return err
	}
	var families []pareto.Family
	for n, list := range [][]setting{own, more} {
		for i, x := range list {
			var at int
			if n == 0 {
				if i = p.contestant(x.contestant.Name); i < 0 {
					continue // it is out
				}
			}
			if families, at, err = joined(families, x.method, x.name, []*Played{p, extra}[n], i, m, o); err != nil {
				return err
			}
			if at == len(s.Methods) {
				s.Methods = append(s.Methods, Method{Name: x.method, Kind: x.contestant.Kind})
			}
			if n == 0 {
				s.Methods[at].Policies = append(s.Methods[at].Policies, x.contestant.Name)
			}
		}
	}
	for i := range families {
		families[i].Without()
	}
	return s.compareFrontiers(families, m, o)
}

// compareFrontiers puts what the families' points say into s, oracles last.
func (s *Summary) compareFrontiers(families []pareto.Family, m, o Metric) error {
	kind := func(name string) catalog.Kind { return s.method(name).Kind }
	slices.SortStableFunc(families, func(a, b pareto.Family) int { return bounds(kind(a.Name)) - bounds(kind(b.Name)) })
	slices.SortStableFunc(s.Methods, func(a, b Method) int { return bounds(a.Kind) - bounds(b.Kind) })
	res, err := pareto.Analyse(families, frontierLevels, frontierResamples, 1)
	if err != nil {
		return err
	}
	res.Env, res.Objective, res.Unit, res.Limit, res.LimitUnit, res.Seeds = s.Env, o.Name, o.Unit, m.Name, m.Unit, s.Seeds
	for i := range s.Methods {
		if s.Methods[i].Kind != catalog.Learned && i > 0 {
			break
		}
		equal, err := pareto.Compare(families, i, frontierResamples, 1)
		if err != nil {
			return err
		}
		res.Equal = append(res.Equal, equal...)
	}
	s.Frontier = res
	s.Summary = s.sentence()
	return nil
}

// bounds sorts oracles, which bound what can be had, behind the others.
func bounds(k catalog.Kind) int {
	if k == catalog.Oracle {
		return 1
	}
	return 0
}

// method is the one of a name, the zero value where there is none.
func (s *Summary) method(name string) Method {
	return one(s.Methods, func(m *Method) bool { return m.Name == name })
}

// settings are what the contestants are settings of, in their order, and the further settings to play.
func (c *Choice) settings(env envs.Env) (own, more []setting, err error) {
	var seen []string // methods whose further settings are there
	for i, con := range c.Contestants {
		x := setting{method: con.Name, name: asItIs, contestant: con}
		chosen := c.chosen[i]
		if chosen.Name == "" {
			own = append(own, x)
			continue
		}
		r, err := c.names.Baseline(chosen.Name)
		if err != nil {
			return nil, nil, err
		}
		keys, err := configKeys(chosen.Config)
		if err != nil {
			return nil, nil, err
		}
		if r.Dial.Key != "" {
			if value, ok := keys[r.Dial.Key]; ok {
				x.name = fmt.Sprintf("%s %v", r.Dial.Key, value)
			}
			delete(keys, r.Dial.Key)
			rest, err := json.Marshal(keys)
			if err != nil {
				return nil, nil, err
			}
			x.method = c.methodOf(i, r.Name, string(rest))
		}
		own = append(own, x)
		if slices.Contains(seen, x.method) {
			continue
		}
		seen = append(seen, x.method)
		more = append(more, furtherBaselines(r, chosen, x, env)...)
	}
	more = slices.DeleteFunc(more, func(x setting) bool {
		return slices.ContainsFunc(own, func(o setting) bool { return o.method == x.method && o.name == x.name })
	})
	learned, err := c.furtherLearned()
	return own, append(learned, more...), err
}

// methodOf names the method of contestant i: by the baseline, and by the contestant where the baseline has several
// configurations beside its dial.
func (c *Choice) methodOf(i int, baseline, rest string) string {
	if c.methods == nil {
		c.methods = map[string]string{}
	}
	key := baseline + rest
	if _, ok := c.methods[key]; !ok {
		name := baseline
		for _, taken := range c.methods {
			if taken == name {
				name = c.Contestants[i].Name
			}
		}
		c.methods[key] = name
	}
	return c.methods[key]
}

// configKeys are a configuration's keys and values.
func configKeys(config any) (map[string]any, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return keysOf(text)
}

// furtherBaselines are a baseline's settings along its dial. A value that the configuration or the environment refuses is left
// out.
func furtherBaselines(r catalog.Baseline, chosen configs.Choice, x setting, env envs.Env) (out []setting) {
	for _, v := range r.Dial.Values {
		config := r.Config()
		text, err := json.Marshal(chosen.Config)
		if err != nil || json.Unmarshal(text, config) != nil ||
			json.Unmarshal(fmt.Appendf(nil, "{%q: %v}", r.Dial.Key, v), config) != nil {
			continue
		}
		if check, ok := config.(interface{ Validate() error }); ok && check.Validate() != nil {
			continue
		}
		if _, err := r.New(config, env); err != nil {
			continue
		}
		name := fmt.Sprintf("%s %v", r.Dial.Key, v)
		out = append(out, setting{x.method, name, BaselineOf(r, x.method+", "+name, config)})
	}
	return out
}

// Keys of dials: the worth of a kept window, and the range of what a missed percentile costs. A policy that was trained with
// a range shows a frontier.
const (
	dialKey      = "env.reward.dial"
	penaltiesKey = "env.penalties"
)

// dialOf is the dial with which an experiment's policy was trained, and its range; empty where it has none.
func dialOf(x *configs.Experiment) (key string, dial []float64) {
	var env struct {
		Reward struct {
			Dial []float64 `json:"dial"`
		} `json:"reward"`
		Penalties []float64 `json:"penalties"`
	}
	text, err := json.Marshal(x.Env.Config)
	if err != nil || json.Unmarshal(text, &env) != nil {
		return "", nil // an environment of another form
	}
	if len(env.Penalties) > 0 {
		return penaltiesKey, env.Penalties
	}
	return dialKey, env.Reward.Dial
}

// dialAt sets a dial to one value.
func dialAt(key, value string) string {
	if key == penaltiesKey {
		value += ", " + value
	}
	return key + "=[" + value + "]"
}

// furtherLearned are the learned policies with a dial under values of it, in equal ratios from the lowest to the highest.
func (c *Choice) furtherLearned() (out []setting, err error) {
	for _, dial := range slices.SortedFunc(maps.Values(c.dials), slices.Compare) {
		for k := range learnedSettings {
			d := dial[0] * math.Pow(dial[1]/dial[0], float64(k)/(learnedSettings-1))
			if d, err = strconv.ParseFloat(strings.ReplaceAll(report.Plain(d), ",", ""), 64); err != nil {
				return nil, err
			}
			d = min(max(d, dial[0]), dial[1])
			sets := append(slices.Clone(c.sets), dialAt(c.dialKey, fmt.Sprint(d)), "eval.baselines=[]")
			at, err := Choose(c.names, c.learned, c.config, sets)
			if err != nil {
				return nil, err
			}
			for i, con := range at.Contestants {
				if !slices.Equal(c.dials[i], dial) {
					continue
				}
				x := setting{c.Contestants[i].Name, fmt.Sprintf("dial %v", d), con}
				x.contestant.Name += ", " + x.name
				x.contestant.NewEnv = func() (envs.Env, error) { return train.NewEnv(at.Experiment, at.Experiment.Eval.Split) }
				for i, v := range x.contestant.Versions {
					x.contestant.Versions[i] = v.In(at.Experiment)
				}
				out = append(out, x)
			}
		}
	}
	return slices.CompactFunc(out, func(a, b setting) bool { return a.contestant.Name == b.contestant.Name }), nil
}

// Fit reports the first baseline of an experiment that cannot play in an environment such as env, by its key: before
// training, not after it.
func Fit(names *catalog.Catalog, x *configs.Experiment, env envs.Env) error {
	for i, choice := range x.Eval.Baselines {
		key := fmt.Sprintf("eval.baselines[%d]", i)
		r, err := names.Baseline(choice.Name)
		if err != nil {
			return train.Usage("%s: %w", key, err)
		}
		plays, own := names.PlaysIn(r, x.Env.Name), env
		if plays == "" {
			return train.Usage("%s: %s is made for %v, not for %s", key, r.Name, r.Envs, x.Env.Name)
		}
		if y := *x; plays != x.Env.Name {
			y.Env.Name = plays
			if own, err = train.NewEnv(&y, x.Eval.Split); err != nil {
				return err
			}
		}
		if _, err = r.New(choice.Config, own); err != nil {
			return train.Usage("%s: %s: %w", key, r.Name, err)
		}
	}
	return nil
}
