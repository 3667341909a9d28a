package envtest_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/rng"
)

// specimen is a small environment that uses every part of the contract: two kinds of agents, one of them inactive at
// times, vector and graph observations, continuous and discrete actions, masks and dependent masks, samples and traced
// draws. It has at most one defect.
type specimen struct {
	defect   string
	spec     *envs.Spec
	seed     uint64
	step     int
	running  bool
	level    [workers]float64
	consumed uint64 // draws so far, for the defect
	traced   func(purpose string, a, b, c uint64, value float64)
	garbage  []byte
	others   *specimen
	keptBuffers
}

const (
	workers       = 3
	specimenSteps = 12
)

// shared is state of the whole package, which environments must not have.
var shared float64

func specimenSpec() *envs.Spec {
	return &envs.Spec{
		ID: "test/Specimen-v1", Doc: "Workers move a level, a planner picks a pair.",
		Kinds: []envs.Kind{
			{
				Name: "worker", Agents: workers, Observation: envs.NewBox(2, -100, 100), Features: []string{"level", "time"},
				Action: envs.Tuple{Spaces: []envs.Space{
					envs.Box{Low: []float32{-1, 0}, High: []float32{1, 4}, Integer: []bool{false, true}}, envs.Discrete{N: 3}}},
				Neighbours: [][]int{{1}, {0, 2}, {1}},
			},
			{
				Name: "planner", Agents: 1,
				Observation: envs.Graph{
					Nodes: []envs.NodeKind{{Name: "worker", Width: 1, Capacity: workers}},
					Edges: []envs.EdgeKind{{Name: "beside", Width: 1, Capacity: workers}},
				},
				Action: envs.MultiDiscrete{N: []int{workers, workers}}, MaskAfter: pairMask, Points: []int{0, 0},
			},
		},
		Step: envs.Timing{Unit: "step", Fixed: 1_000_000}, MaxSteps: specimenSteps,
		Info:    []envs.Quantity{{Name: "sum", Unit: "levels", Better: envs.Higher, Reduce: envs.Mean}},
		Samples: []envs.Quantity{{Name: "level", Unit: "levels"}},
	}
}

// pairMask: the second of a pair comes after the first.
func pairMask(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	n := obs.Graphs[agent].Nodes[0].Len
	for c := range mask {
		mask[c] = c < n-1 && len(partial) == 0 || len(partial) == 1 && c > int(partial[0]) && c < n
	}
	return nil
}

// build returns a specimen with a defect, "" for none.
func build(defect string) envtest.Build {
	return func() (envs.Env, error) {
		s := &specimen{defect: defect, spec: specimenSpec()}
		k := &s.spec.Kinds[0]
		switch defect {
		case "id":
			s.spec.ID = "Specimen"
		case "neighbour out of range":
			k.Neighbours[2] = []int{3}
		case "an agent after itself":
			k.Next = [][]int{{1}, {2}, {0}}
		case "agent names":
			k.Names = []string{"a", "b"}
		case "feature names":
			k.Features = k.Features[:1]
		case "empty box":
			k.Observation = envs.NewBox(2, 1, -1)
		case "info twice":
			s.spec.Info = append(s.spec.Info, s.spec.Info[0])
		case "points at no kind":
			s.spec.Kinds[1].Points = []int{0, 1}
		case "points of too few components":
			s.spec.Kinds[1].Points = []int{0}
		case "points without a graph":
			k.Points = []int{-1, -1, 0}
		case "points at more nodes than choices":
			s.spec.Kinds[1].Action = envs.MultiDiscrete{N: []int{workers, workers - 1}}
		case "reduction":
			s.spec.Info[0].Reduce = "median"
		case "bounds the wrong way":
			s.spec.Info[0].Bounds = envs.Bounds{Low: 1, High: -1}
		case "constraint without a direction":
			s.spec.Constraint, s.spec.Info[0].Better = s.spec.Info[0].Name, envs.Neither
		case "info outside its bounds":
			s.spec.Info[0].Bounds = envs.AtLeast(0)
		case "dependent mask allows more", "dependent mask not written", "dependent mask of first component",
			"dependent mask changes observation":
			s.spec.Kinds[1].MaskAfter = s.wrongMask
		}
		return s, nil
	}
}

// wrongMask is pairMask with a defect.
func (s *specimen) wrongMask(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	was := append([]bool(nil), mask...)
	if err := pairMask(obs, agent, partial, mask); err != nil {
		return err
	}
	switch {
	case s.defect == "dependent mask allows more" && len(partial) == 1:
		mask[0] = true
	case s.defect == "dependent mask not written" && len(partial) == 1:
		mask[0] = was[0]
	case s.defect == "dependent mask of first component" && len(partial) == 0:
		mask[1] = false
	case s.defect == "dependent mask changes observation":
		obs.Graphs[agent].Nodes[0].Features[0]++
	}
	return nil
}

func (s *specimen) is(defect string) bool { return s.defect == defect }

func (s *specimen) Spec() *envs.Spec {
	if s.is("another spec each time") {
		return specimenSpec()
	}
	return s.spec
}

// active reports whether an agent is active: the last worker is so in some steps only.
func (s *specimen) active(kind, agent int) bool {
	return kind == 1 || agent < workers-1 || s.step%3 != 0
}

func (s *specimen) draw(purpose string, a, b uint64) float64 {
	k := rng.New(s.seed, purpose).With(a).With(b)
	if s.is("draws consumed") {
		s.consumed++
		k = rng.New(s.seed, purpose).With(s.consumed)
	}
	x := k.Float64()
	if s.is("draws named by policy") && purpose == "noise" {
		a = math.Float64bits(s.level[0]) | 1<<63
	}
	if s.traced != nil {
		if s.is("tracing changes the world") {
			x /= 2
		}
		s.traced(purpose, a, b, 0, x)
	}
	return x
}

func (s *specimen) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) {
	if f == nil && s.is("tracing never stops") {
		return
	}
	s.traced = f
}

func (s *specimen) AppendSamples(_ int, dst []float64) []float64 {
	switch s.defect {
	case "samples overwrite":
		return append(dst[:0], s.level[:]...)
	case "samples not finite":
		return append(dst, math.NaN())
	}
	return append(dst, s.level[:]...)
}

func (s *specimen) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 && !s.is("unknown option accepted") {
		return fmt.Errorf("no options are known, not %v", options)
	}
	if s.is("Reset allocates") {
		s.garbage = make([]byte, 100)
	}
	s.seed, s.step, s.running = seed, 0, true
	s.misread()
	for i := range s.level {
		if i == 0 && s.is("Reset keeps state") {
			continue
		}
		s.level[i] = s.draw("start", uint64(i), 0)
	}
	if s.is("shared state") {
		shared = 0
	}
	return s.see(obs)
}

func (s *specimen) see(obs *envs.Observation) error {
	obs = s.keep(obs)
	if s.is("observation buffer replaced") {
		obs.Kinds[0].Values = make([]float32, 2*workers)
	}
	k := &obs.Kinds[0]
	for i := range workers {
		row, mask := k.Values[2*i:2*i+2], k.Mask[3*i:3*i+3]
		k.Active[i] = s.active(0, i)
		if !k.Active[i] {
			if s.is("inactive rows stay") {
				continue
			}
			if !s.is("inactive mask stays") && !s.is("masks never written") {
				clear(mask)
			}
			if s.is("inactive rows not zero") {
				row[0] = 1
				continue
			}
			clear(row)
			continue
		}
		row[0] = float32(s.level[i])
		if !s.is("observation not written") || s.step != 5 {
			row[1] = float32(s.step)
		}
		switch {
		case s.is("observation outside") && s.step == 5:
			row[0] = 101
		case s.is("observation NaN") && s.step == 5:
			row[0] = float32(math.NaN())
		}
		switch {
		case s.is("masks never written"):
		case s.is("mask written in part"):
			mask[2] = s.level[i] > 0
		case s.is("mask written at steps only") && s.step == 0:
		default:
			mask[0], mask[1], mask[2] = true, true, s.level[i] > 0
		}
		if s.is("no legal choice") && s.step == 4 {
			clear(mask)
		}
	}
	p := &obs.Kinds[1]
	p.Active[0] = true
	copy(p.Mask, []bool{true, true, false, false, true, true})
	g := p.Graphs[0]
	if !s.is("graph not cleared") {
		g.Clear()
	}
	nodes := workers
	if s.is("mask points at no node") && s.step == 4 {
		nodes--
	}
	for i := range nodes {
		_, f, err := g.AddNode(0)
		if err != nil {
			return err
		}
		f[0] = float32(s.level[i])
		if s.is("graph not finite") {
			f[0] = float32(math.Inf(1))
		}
		if i > 0 {
			if _, err := g.AddEdge(0, int32(i-1), int32(i)); err != nil {
				return err
			}
		}
	}
	if s.is("graph dangles") {
		g.Edges[0].To[0] = workers
	}
	return nil
}

// admit returns an error if an action is illegal.
func (s *specimen) admit(act *envs.Action, obs *envs.Observation) error {
	if !s.running && !s.is("step after end") {
		return errors.New("step outside an episode")
	}
	if s.is("inactive actions read") {
		return envs.CheckAction(s.spec, nil, act)
	}
	if s.is("actions unchecked") {
		for i, k := range s.spec.Kinds {
			if len(act.Kinds) != 2 || len(act.Kinds[i]) != k.Agents*k.Action.Width() {
				return errors.New("wrong size")
			}
		}
		return nil
	}
	if s.is("sizes unchecked") && (len(act.Kinds) != 2 || len(act.Kinds[0]) != 3*workers || len(act.Kinds[1]) != 2) {
		return nil
	}
	if err := envs.CheckAction(s.spec, s.active, act); err != nil {
		switch s.defect {
		case "refusal changes state":
			s.level[1]++
		case "refusal writes":
			obs.Kinds[0].Values[0] = 1
		}
		return err
	}
	for i := range workers {
		if s.active(0, i) && act.Kinds[0][3*i+2] == 2 && s.level[i] <= 0 && !s.is("mask not enforced") &&
			!s.is("masks never written") {
			return errors.New("choice 2 needs a positive level")
		}
	}
	if a := act.Kinds[1]; (a[0] == workers-1 || a[1] <= a[0]) && !s.is("dependent mask not enforced") {
		return fmt.Errorf("%g after %g is no pair", a[1], a[0])
	}
	return nil
}

func (s *specimen) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := s.admit(act, obs); err != nil {
		return err
	}
	act, out = s.keepStep(act, out)
	wasInfo := out.Info[0]
	if s.is("sizes unchecked") && len(act.Kinds) != 2 {
		return nil
	}
	sum := 0.0
	for i := range workers {
		out.Rewards[0][i] = 0
		if !s.active(0, i) {
			if s.is("inactive earns") {
				out.Rewards[0][i] = 1
			}
			continue
		}
		a := act.Kinds[0][3*i : 3*i+3]
		if a[0] > 0 || !s.is("draws consumed") { // what is drawn depends on what is done
			s.level[i] += float64(a[0]) - 0.5 + s.draw("noise", uint64(i), uint64(s.step))
		}
		if s.is("action changed") {
			a[0] = 0
		}
		sum += s.level[i]
		out.Rewards[0][i] = float32(s.level[i])
	}
	if s.others != nil {
		s.others.level[0]++
	}
	was := *out
	out.Rewards[1][0], out.Info[0] = float32(sum), sum
	if s.is("info not written") && s.step == 3 {
		out.Info[0] = wasInfo
	}
	s.step++
	out.Elapsed, out.Terminated, out.Truncated = 1_000_000, false, s.step == specimenSteps
	s.plant(&was, out)
	s.running = !out.Terminated && !out.Truncated
	return s.see(obs)
}

// plant has the defects in Step's outcome. was is the outcome before the step.
func (s *specimen) plant(was, out *envs.Outcome) {
	switch s.defect {
	case "Step allocates":
		s.garbage = make([]byte, s.step)
	case "reward not finite":
		out.Rewards[0][0] = float32(math.NaN())
	case "reward buffer replaced":
		out.Rewards[0] = make([]float32, workers)
	case "info not finite":
		out.Info[0] = math.Inf(1)
	case "info outside its bounds":
		out.Info[0] = -0.061
	case "info buffer replaced":
		out.Info = make([]float64, 1)
	case "elapsed differs":
		out.Elapsed += int64(s.step)
	case "too long":
		out.Truncated = s.step == specimenSteps+1
	case "limit terminates":
		out.Truncated, out.Terminated = false, out.Truncated
	case "ends not written":
		out.Truncated = out.Truncated || was.Truncated
	case "nondeterministic":
		shared++
		s.level[0] += shared
	case "shared state":
		shared++
		s.level[0] += shared / 10
	case "panics":
		panic("planted")
	}
}
