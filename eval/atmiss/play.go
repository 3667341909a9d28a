package atmiss

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
)

// Method is one to compare.
type Method struct {
	Name string
	// Setting names what Values are, ascending.
	Setting string
	Values  []float64
	// Make returns the method at a setting. Its name is not looked at.
	Make func(value float64) (eval.Contestant, error)
}

// Request says which methods play, where, and on which requests.
type Request struct {
	// NewEnv makes the environment of each contestant that has none of its own; the requests must be the same in all.
	NewEnv  func() (envs.Env, error)
	Methods []Method
	// Seeds are the workload seeds, a request each.
	Seeds []uint64
	// Missed and Cost name the two quantities of the environments. Empty is missed and cost. Plus is added to the cost: 1
	// makes of a relative excess a price.
	Missed, Cost string
	Plus         float64
	Workers      int
	// Run plays, [eval.Run] where it is nil: a suite has its own, with workers and progress.
	Run func(context.Context, eval.Request) (*eval.Played, error)
}

// Rival is a method that is a rival of the catalog, whose configuration follows from the setting.
func Rival(name, rival, setting string, values []float64, config func(value float64) any) Method {
	return Method{Name: name, Setting: setting, Values: values, Make: func(v float64) (eval.Contestant, error) {
		return eval.Rival(name, rival, config(v))
	}}
}

// Play plays every method at every setting on every request.
func Play(ctx context.Context, r Request) ([]Curve, error) {
	var all []eval.Contestant
	for _, m := range r.Methods {
		for _, v := range m.Values {
			c, err := m.Make(v)
			if err != nil {
				return nil, fmt.Errorf("atmiss: %s at %g: %w", m.Name, v, err)
			}
			c.Name = fmt.Sprintf("%s %s=%g", m.Name, m.Setting, v)
			all = append(all, c)
		}
	}
	run := r.Run
	if run == nil {
		run = eval.Run
	}
	played, err := run(ctx, eval.Request{NewEnv: r.NewEnv, Contestants: all, Seeds: r.Seeds, Workers: r.Workers})
	if err != nil {
		return nil, err
	}
	missed, err := quantity(played.Spec, r.Missed, "missed")
	if err != nil {
		return nil, err
	}
	cost, err := quantity(played.Spec, r.Cost, "cost")
	if err != nil {
		return nil, err
	}
	var curves []Curve
	k := 0
	for _, m := range r.Methods {
		c := Curve{Method: m.Name, Setting: m.Setting}
		for _, v := range m.Values {
			p := Point{Value: v}
			for _, episodes := range played.Episodes[k] {
				late, paid := make([]float64, len(episodes)), make([]float64, len(episodes))
				for i, e := range episodes {
					late[i], paid[i] = e.Info[missed], e.Info[cost]+r.Plus
				}
				p.Missed, p.Cost = append(p.Missed, late), append(p.Cost, paid)
			}
			c.Points = append(c.Points, p)
			k++
		}
		curves = append(curves, c)
	}
	return curves, nil
}

// quantity is the place of a quantity that the environment reports.
func quantity(s *envs.Spec, name, otherwise string) (int, error) {
	if name == "" {
		name = otherwise
	}
	for i, q := range s.Info {
		if q.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("atmiss: %s reports no %q", s.ID, name)
}
