package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/train"
)

// FrontierRequest says which families play, and where.
type FrontierRequest struct {
	Names *catalog.Catalog
	// Paths are runs and checkpoints; Config is the experiment, where it is not that of the first of them.
	Paths  []string
	Config string
	Sets   []string
	// Dial are the values of the dial under which learned policies play: of env.reward.dial, or of env.penalties where they
	// were trained with these; none is the experiment's own.
	Dial []string
	// Baselines are families of baselines: rule, or autoscaler.cpu=0.3,0.5.
	Baselines []string
	// Levels are the shares of violated windows at which prices are compared.
	Levels    []float64
	Resamples int
	Workers   int
	Progress  func(Progress)
}

// RunFrontier plays all points of all families under the experiment's seeds.
func RunFrontier(ctx context.Context, q FrontierRequest) (*pareto.Result, error) {
	all, x, err := q.members()
	if err != nil {
		return nil, err
	}
	seeds, err := configs.ParseSeeds(x.Eval.Seeds)
	if err != nil {
		return nil, train.Usage("eval.seeds: %w", err)
	}
	env, err := train.NewEnv(x, x.Eval.Split)
	if err != nil {
		return nil, err
	}
	spec := env.Spec()
	by, err := NewCriteria(spec, x.Eval.Constraint, x.Eval.Objective, x.Eval.RelativeTolerance)
	if err != nil {
		return nil, train.Usage("%w", err)
	}
	if by.Constraint == nil || by.Constraint.Better != envs.Lower || by.Objective.Better != envs.Lower {
		return nil, train.Usage("a frontier is of an objective and a constraint that are better lower, such as price and "+
			"violated; %s has %q and %q", spec.ID, spec.Objective, spec.Constraint)
	}
	r := Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }, Seeds: seeds, Workers: q.Workers,
		Stochastic: x.Eval.Stochastic, Progress: q.Progress}
	for i, m := range all {
		name := m.contestant.Name
		if slices.ContainsFunc(all[:i], func(o setting) bool { return o.contestant.Name == name }) {
			return nil, train.Usage("%q is named twice and would count double: name it once", name)
		}
		r.Contestants = append(r.Contestants, m.contestant)
	}
	played, err := Run(ctx, r)
	if err != nil {
		return nil, err
	}
	var families []pareto.Family
	for i, m := range all {
		var at int
		if families, at, err = joined(families, m.method, m.name, played, i, *by.Constraint, by.Objective); err != nil {
			return nil, err
		}
		families[at].Bound = m.contestant.Kind == catalog.Oracle
	}
	if low, _ := by.Objective.Bounds.Limits(); low < 0 && !math.IsInf(low, 0) {
		for i := range families {
			families[i].Floor = low
		}
	}
	out, err := pareto.Analyse(families, q.Levels, q.Resamples, 1)
	if err != nil {
		return nil, err
	}
	if by.Constraint.Unit != pareto.Windows {
		out.LimitUnit = by.Constraint.Unit
	}
	out.Env, out.Objective, out.Unit, out.Limit, out.Seeds = spec.ID, by.Objective.Name, by.Objective.Unit, by.Constraint.Name, seeds
	return out, nil
}

// joined are families with a contestant's scores as a setting of the one of a name, and the place of that.
func joined(families []pareto.Family, name, setting string, p *Played, contestant int,
	constraint, objective Metric) ([]pareto.Family, int, error) {
	at := slices.IndexFunc(families, func(f pareto.Family) bool { return f.Name == name })
	if at < 0 {
		at, families = len(families), append(families, pareto.Family{Name: name})
	}
	violated, err := p.Sample(contestant, constraint)
	if err != nil {
		return nil, 0, err
	}
	price, err := p.Sample(contestant, objective)
	families[at].Points = append(families[at].Points, pareto.Point{Setting: setting, Violated: violated, Price: price})
	return families, at, err
}

// members are all points, the learned ones first, and the experiment.
func (q *FrontierRequest) members() (all []setting, x *configs.Experiment, err error) {
	dials := q.Dial
	if len(dials) == 0 || len(q.Paths) == 0 {
		dials = []string{""}
	}
	key := dialKey
	if len(q.Dial) > 0 && len(q.Paths) == 0 {
		return nil, nil, train.Usage("--dial is of learned policies: name a run, or give baselines values, as in --baseline fixed.cpu=1,2")
	}
	if dials[0] != "" {
		c, err := Choose(q.Names, q.Paths, q.Config, append(slices.Clone(q.Sets), "eval.baselines=[]"))
		if err != nil {
			return nil, nil, err
		}
		key = cmp.Or(c.dialKey, key)
		for i := range c.Contestants {
			if c.dials[i] == nil {
				return nil, nil, train.Usage("%s was trained without a dial: leave --dial out", c.Contestants[i].Name)
			}
		}
	}
	if len(q.Paths) > 0 {
		for _, d := range dials {
			sets, setting := slices.Clone(q.Sets), asItIs
			if d != "" {
				sets, setting = append(sets, dialAt(key, d)), "dial "+d
			}
			c, err := Choose(q.Names, q.Paths, q.Config, append(sets, "eval.baselines=[]"))
			if err != nil {
				return nil, nil, err
			}
			if x == nil {
				x = c.Experiment
			}
			for i := range c.Contestants {
				all = append(all, q.member(c, i, c.Contestants[i].Name, setting))
			}
		}
	}
	for _, text := range q.Baselines {
		name, key, values, err := parse(text)
		if err != nil {
			return nil, nil, err
		}
		for _, v := range values {
			baseline, setting := "{name: "+name+"}", asItIs
			if key != "" {
				baseline, setting = fmt.Sprintf("{name: %s, %s: %s}", name, key, v), key+" "+v
			}
			c, err := Choose(q.Names, append(slices.Clone(q.Paths), name), q.Config, append(slices.Clone(q.Sets),
				"eval.baselines=["+baseline+"]"))
			if err != nil {
				return nil, nil, err
			}
			if x == nil {
				x = c.Experiment
			}
			all = append(all, q.member(c, len(c.Contestants)-1, text[:len(name)+min(1, len(key))]+key, setting))
		}
	}
	if len(all) == 0 {
		return nil, nil, train.Usage("nothing to compare: name runs, or baselines with --baseline")
	}
	return all, x, nil
}

func (q *FrontierRequest) member(c *Choice, i int, family, name string) setting {
	x, con := c.Experiment, c.Contestants[i]
	con.Name = family + ", " + name
	con.NewEnv = func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }
	return setting{family, name, con}
}

// parse reads a family of baselines: its name, or its name, a key and values of it.
func parse(text string) (name, key string, values []string, err error) {
	left, right, given := strings.Cut(text, "=")
	name, key, keyed := strings.Cut(left, ".")
	values = strings.Split(right, ",")
	if name == "" || given != keyed || keyed && (key == "" || slices.Contains(values, "")) {
		return "", "", nil, train.Usage("a family is %q, want a baseline's name, or a key of it and values: autoscaler.cpu=0.3,0.5", text)
	}
	return name, key, values, nil
}

// ParseLevels checks shares of violated windows.
func ParseLevels(levels []float64) error {
	for _, l := range levels {
		if !(l >= 0) || math.IsInf(l, 0) {
			return train.Usage("a level is %g, want a share of windows of 0 or more", l)
		}
	}
	return nil
}

// frontierName is the figure of the objective over the constraint, by method, with its data.
const (
	frontierName       = "frontier"
	frontierPointsFile = frontierName + "_points.csv"
	frontierLevelsFile = frontierName + "_levels.csv"
)

// frontier draws every method's points and the line between them.
func (p *painter) frontier() {
	if p.s.Frontier == nil {
		return
	}
	points, levels := p.s.Frontier.Rows()
	p.data(frontierName+"_points", points)
	p.data(frontierName+"_levels", levels)
	f := p.s.Frontier.Figure(p.methodStyle)
	f.Under = under(p.s)
	p.finish(f, frontierName)
}

// methodStyle is the look of a method: that of its first policy in every other figure, and of a bound for an oracle.
func (p *painter) methodStyle(method string) chart.Style {
	m := p.s.method(method)
	if m.Kind == catalog.Oracle && len(m.Policies) == 0 {
		return chart.Bound()
	}
	for i, name := range p.s.names() {
		if slices.Contains(m.Policies, name) {
			return p.styles[i]
		}
	}
	return chart.Common()
}
