package envtest_test

import "github.com/stoker-rl/stoker/envs"

// keptBuffers are buffers of the caller that a defect keeps between calls.
type keptBuffers struct {
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
	own float64
}

// built counts specimens, for the defect that each instance has other dynamics.
var built float64

// misread has the defects in the use of the seed.
func (s *specimen) misread() {
	switch {
	case s.is("seed ignored"):
		s.seed = 0
	case s.is("seed of 32 bits"):
		s.seed = uint64(uint32(s.seed))
	case s.is("seed's lower bits ignored"):
		s.seed = s.seed &^ 0xffffff00
	case s.is("seed 0 is any") && s.seed == 0:
		shared++
		s.seed = uint64(shared)
	}
}

// keep has the defects in which the environment keeps an observation and writes into it later, or reads it as state.
func (s *specimen) keep(obs *envs.Observation) *envs.Observation {
	switch {
	case s.is("first observation kept") && s.step == 0:
		s.obs = obs
	case s.is("first observation kept"):
		return s.obs
	case s.is("observation read") && s.step > 0 && s.active(0, 0):
		s.level[0] += float64(obs.Kinds[0].Values[0]) / 1000
	}
	return obs
}

// keepStep has the same defects for actions and outcomes.
func (s *specimen) keepStep(act *envs.Action, out *envs.Outcome) (*envs.Action, *envs.Outcome) {
	switch {
	case s.is("action kept"):
		if s.step > 0 {
			s.level[1] += float64(s.act.Kinds[1][1]) // reads the previous action
		}
		s.act = act
	case s.is("outcome kept") && s.step == 0:
		s.out = out
	case s.is("outcome kept"):
		return act, s.out
	case s.is("each is another world"):
		if s.own == 0 {
			built++
			s.own = built
		}
		s.level[0] += s.own
	}
	return act, out
}
