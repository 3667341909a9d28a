package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/envs"
)

// check says what is wrong with the buffers of a request.
func (p *Policy) check(r *Request) error {
	if r.Seen == nil || r.Out == nil {
		return fmt.Errorf("policy: %w: Seen or Out is nil, want the buffers of NewObservation and NewAction", ErrInput)
	}
	if err := p.checkSeen(r.Seen); err != nil {
		return fmt.Errorf("policy: %w: observation: %w", ErrInput, err)
	}
	for _, out := range []*envs.Action{r.Out, r.Shadow} {
		if out == nil {
			continue
		}
		if err := p.checkAction(out); err != nil {
			return fmt.Errorf("policy: %w: action: %w", ErrInput, err)
		}
	}
	return nil
}

func (p *Policy) checkAction(a *envs.Action) error {
	if len(a.Kinds) != len(p.spec.Kinds) {
		return fmt.Errorf("has %d kinds of agents, want %d", len(a.Kinds), len(p.spec.Kinds))
	}
	for i := range a.Kinds {
		k := &p.spec.Kinds[i]
		if want := k.Agents * k.Action.Width(); len(a.Kinds[i]) != want {
			return fmt.Errorf("kind %q has %d numbers, want %d", k.Name, len(a.Kinds[i]), want)
		}
	}
	return nil
}

func (p *Policy) checkSeen(o *envs.Observation) error {
	if len(o.Kinds) != len(p.spec.Kinds) {
		return fmt.Errorf("has %d kinds of agents, want %d", len(o.Kinds), len(p.spec.Kinds))
	}
	for i := range o.Kinds {
		k, s := &o.Kinds[i], &p.spec.Kinds[i]
		graphs := 0
		graph, ok := s.Observation.(envs.Graph)
		if ok {
			graphs = s.Agents
		}
		for _, c := range [...]struct {
			what      string
			got, want int
		}{
			{"values", len(k.Values), s.Agents * s.Observation.Width()}, {"active", len(k.Active), s.Agents},
			{"mask", len(k.Mask), s.Agents * s.Action.MaskWidth()}, {"legal", len(k.Legal), s.Agents * s.Legal},
			{"graphs", len(k.Graphs), graphs},
		} {
			if c.got != c.want {
				return fmt.Errorf("kind %q: %s has %d entries, want %d", s.Name, c.what, c.got, c.want)
			}
		}
		for j, g := range k.Graphs {
			if g == nil {
				return fmt.Errorf("kind %q: graph %d is nil", s.Name, j)
			}
			if err := graph.Check(g); err != nil {
				return fmt.Errorf("kind %q: graph %d: %w", s.Name, j, err)
			}
		}
		if err := p.checkMask(i, k); err != nil {
			return fmt.Errorf("kind %q: %w", s.Name, err)
		}
	}
	return nil
}

// checkMask refuses an active agent without a legal choice.
func (p *Policy) checkMask(kind int, o *envs.KindObservation) error {
	s := &p.spec.Kinds[kind]
	w := s.Action.MaskWidth()
	if w == 0 {
		return nil
	}
	for j, active := range o.Active {
		if !active {
			continue
		}
		row := o.Mask[j*w : (j+1)*w]
		for c, n := range p.choices[kind] {
			if n > 0 && !slices.Contains(row[:n], true) {
				return fmt.Errorf("mask: %s is active and has no legal choice in component %d (%s) of its action",
					agentName(s, j), c, component(s, c))
			}
			row = row[n:]
		}
	}
	return nil
}

// checkLegal refuses an observation from which no first choice can be told: with a legality table that its features
// contradict, neither the policy nor its fallback could decide.
func (p *Policy) checkLegal(w *worker, seen *envs.Observation) error {
	for i := range p.spec.Kinds {
		k, o := &p.spec.Kinds[i], &seen.Kinds[i]
		for j, active := range o.Active {
			if k.MaskAfter == nil || !active || p.choices[i][0] == 0 {
				continue
			}
			if err := k.MaskAfter(o, j, nil, w.mask[:p.choices[i][0]]); err != nil {
				return fmt.Errorf("kind %q: %s: %w", k.Name, agentName(k, j), err)
			}
		}
	}
	return nil
}

// agentName names an agent by its number, and its name where it has one.
func agentName(k *envs.Kind, i int) string {
	if i < len(k.Names) {
		return fmt.Sprintf("agent %d (%s)", i, k.Names[i])
	}
	return fmt.Sprintf("agent %d", i)
}

// look says why the policy must not decide on what is seen.
func (p *Policy) look(r *Request) Decision {
	if p.opts.MaxAge > 0 && !r.At.IsZero() {
		if age := time.Since(r.At); age.Abs() > p.opts.MaxAge { // where a clock is ahead, nobody knows how old it is
			return Decision{Reason: Stale, Where: Where{Name: "age in seconds", Value: age.Seconds(),
				High: p.opts.MaxAge.Seconds()}}
		}
	}
	if p.guard == nil {
		return Decision{}
	}
	reason, where := p.guard.look(r.Seen)
	return Decision{Reason: reason, Where: where}
}

// legal reports whether an action is one of its space and allowed by the masks, and where it is not.
func (p *Policy) legal(w *worker, seen *envs.Observation, out *envs.Action) (Where, bool) {
	for i := range p.spec.Kinds {
		k, o := &p.spec.Kinds[i], &seen.Kinds[i]
		width, masks := k.Action.Width(), k.Action.MaskWidth()
		for j, active := range o.Active {
			if !active {
				continue
			}
			row := out.Kinds[i][j*width : (j+1)*width]
			mask := o.Mask[j*masks : (j+1)*masks]
			for c, n := range p.choices[i] {
				b := p.ranges[i][c]
				x := float64(row[c])
				ok := x >= b.Low && x <= b.High && x-x == 0 && (!p.whole[i][c] || x == math.Trunc(x))
				if ok && n > 0 {
					allowed := mask[:n]
					if k.MaskAfter != nil {
						allowed = w.mask[:n]
						ok = k.MaskAfter(o, j, row[:c], allowed) == nil
					}
					ok = ok && allowed[int(x)]
				}
				if mask = mask[min(n, len(mask)):]; !ok {
					w := Where{Kind: k.Name, Part: "action", Row: j, Feature: c, Name: component(k, c), Value: x, Low: b.Low,
						High: b.High}
					if j < len(k.Names) {
						w.Of = k.Names[j]
					}
					return w, false
				}
			}
		}
	}
	return Where{}, true
}

// wholes says of each component of a space whether it takes whole numbers only.
func wholes(s envs.Space) []bool {
	var out []bool
	switch s := s.(type) {
	case envs.Box:
		if out = s.Integer; out == nil {
			out = make([]bool, s.Width())
		}
	case envs.Dict:
		return wholes(s.Tuple)
	case envs.Tuple:
		for _, part := range s.Spaces {
			out = append(out, wholes(part)...)
		}
	default:
		for _, n := range envs.Choices(s) {
			out = append(out, n > 0)
		}
	}
	return out
}

// component is the name of a component of an action.
func component(k *envs.Kind, c int) string {
	if c < len(k.Actions) {
		return k.Actions[c]
	}
	return "component"
}
