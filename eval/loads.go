package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/train"
)

// hopeless is the share of violations from which on an oracle keeps nothing.
const hopeless = 0.995

// trainedOn remembers the load that a contestant was trained on. Settings of the evaluation are not those of training.
func (c *Choice) trainedOn(at int, t *Trained) {
	x, err := train.ReadExperiment(t.Checkpoint, nil, c.names)
	if err != nil {
		return // its load is not known then
	}
	if l := train.TrainedLoad(t.Checkpoint, x); l != nil {
		c.loads[at] = l
	}
}

// TrainedLoads are the loads that the learned contestants were trained on, as far as they are known.
func (c *Choice) TrainedLoads() []envs.TrainedLoad {
	var out []envs.TrainedLoad
	for i, con := range c.Contestants {
		if l := c.loads[i]; l != nil {
			out = append(out, envs.TrainedLoad{Policy: con.Name, Load: *l})
		}
	}
	return out
}

// SetLoad adds what there is to say of the load. Where an oracle too violates everything, it says so in place of the
// plain warning.
func (s *Summary) SetLoad(p *Played, r *envs.LoadReport) error {
	s.Load = r
	if r == nil || s.Constraint == "" {
		return nil
	}
	if r.Serves == 0 && r.Unmet == "" {
		return nil // it is not known what is served
	}
	if s.Infeasible != nil && r.Serves > 0 && !r.Overloaded() {
		r.Warnings = append(r.Warnings, "no policy here serves the load, though a steady one of that mean can be served: "+r.Bound())
		return nil
	}
	metrics, err := Metrics(p.Spec, []string{s.Constraint})
	if err != nil {
		return err
	}
	of, ok := strings.CutPrefix(metrics[0].Unit, "share of ")
	if !ok {
		return nil
	}
	for c, con := range p.Contestants {
		if con.Kind != catalog.Oracle {
			continue
		}
		scores, err := p.Scores(c, metrics[0])
		if err != nil {
			return err
		}
		if stats.Mean(scores.Flat()) < hopeless {
			continue
		}
		why := cmp.Or(r.Unmet, r.Bound())
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.HasSuffix(w, why) })
		r.Warnings = append([]string{fmt.Sprintf("%s, which knows the load to come, too violates all %s: %s", con.Name, of, why)},
			r.Warnings...)
		break
	}
	return nil
}

// loadLines are the warnings about the load, for the head of an evaluation.
func (s *Summary) loadLines() []string {
	if s.Load == nil {
		return nil
	}
	return s.Load.Warnings
}
