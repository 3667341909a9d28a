package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// seat is an environment with its buffers.
type seat struct {
	*Env
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func sit(t *testing.T, form string) seat {
	t.Helper()
	c := few()
	c.Form = form
	e := must.Get(New(c, Given{}))(t)
	return seat{e, envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())}
}

func (s *seat) reset(t *testing.T, seed uint64) {
	t.Helper()
	must.Do(t, s.Reset(seed, nil, s.obs))
}

// follow plays an option.
func (s *seat) follow(t *testing.T, option int) {
	t.Helper()
	s.Follow(option, s.act)
	must.Do(t, s.Step(s.act, s.obs, s.out))
}

// An option does the same whichever form of the action says it: as a node, in full, or beside the action. All
// configurations that the platform allows can be said in full, and no other.
func TestFormsAgree(t *testing.T) {
	front, full := sit(t, FrontForm), sit(t, FullForm)
	for seed := range uint64(6) {
		front.reset(t, seed)
		full.reset(t, seed)
		for k := 0; front.Running(); k++ {
			s, m := front.NextStep(), front.Model()
			all := m.Full(s)
			said := legal(t, &full)
			if len(said) != len(all) {
				t.Fatalf("seed %d, step %d: %d configurations can be said, the platform allows %d", seed, s, len(said), len(all))
			}
			o := all[(k*7919+int(seed)*31)%len(all)]
			if !said[configuration{o.MB, o.Instances, o.Processes}] {
				t.Fatalf("seed %d, step %d: %+v cannot be said", seed, s, o)
			}
			option := must.Get(m.Pack(s, o.MB, o.Instances, o.Processes))(t)
			seconds, usd := front.Draw(s, option)
			before := front.Moment().Spent
			front.follow(t, option)
			full.follow(t, option)
			if front.out.Rewards[0][0] != full.out.Rewards[0][0] || front.out.Elapsed != full.out.Elapsed {
				t.Fatalf("seed %d, step %d, %+v: rewards %g and %g", seed, s, o, front.out.Rewards[0][0], full.out.Rewards[0][0])
			}
			if at := front.Moment(); math.Abs(at.Spent-before-usd) > 1e-12 || at.State[s] == Done && math.Abs(at.Done[s]-at.Begun[s]-seconds) > 1e-9 {
				t.Fatalf("seed %d, step %d: %g USD and %g s were foreseen, %g USD came", seed, s, usd, seconds, at.Spent-before)
			}
		}
	}
}

// legal are the configurations that the masks allow.
func legal(t *testing.T, s *seat) map[configuration]bool {
	t.Helper()
	out, k, a := map[configuration]bool{}, &s.obs.Kinds[0], s.full
	after := func(partial ...float32) []bool {
		mask := make([]bool, []int{len(a.memory), a.instances, a.processes}[len(partial)])
		must.Do(t, s.Spec().Kinds[0].MaskAfter(k, 0, partial, mask))
		return mask
	}
	for m, ok := range after() {
		if !ok {
			continue
		}
		for p, ok := range after(float32(m)) {
			if !ok {
				continue
			}
			for q, ok := range after(float32(m), float32(p)) {
				if ok {
					out[configuration{a.memory[m], p + 1, q + 1}] = true
				}
			}
		}
	}
	return out
}
