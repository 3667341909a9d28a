package envs_test

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// faasconf is FaaSConf's sizing: an agent per function sets CPU, memory, replicas and concurrency of the next window. A
// workflow of five functions leaves the sixth agent out; the fifth joins after some windows. State, in x: each
// function's last action and latency.
type faasconf struct{ toy }

const (
	sized   = 6
	perLine = 5
)

var sizingSpec = envs.Spec{
	ID: "test/FaaSConf-v1", Doc: "An agent per function sets its resources for the next window.",
	Kinds: []envs.Kind{{
		Name: "function", Agents: sized, Observation: envs.Unbounded(6), Action: envs.NewBox(4, 0, 1),
		Features: []string{"cpu", "memory", "replicas", "concurrency", "latency", "users"},
		Actions:  []string{"cpu", "memory", "replicas", "concurrency"},
		// A chain with a branch at its end.
		Neighbours: [][]int{{1}, {0, 2}, {1, 3}, {2, 4, 5}, {3}, {3}},
	}},
	Step: envs.Timing{Unit: "window", Fixed: 30_000_000}, MaxSteps: 15,
	Info: []envs.Quantity{
		{Name: "price", Unit: "USD/h", Better: envs.Lower, Reduce: envs.PerTime},
		{Name: "latency", Unit: "s", Better: envs.Lower, Reduce: envs.Mean},
		{Name: "violations", Unit: "windows", Better: envs.Lower, Reduce: envs.Sum},
	},
	Samples: []envs.Quantity{{Name: "latency", Unit: "s", Better: envs.Lower}},
}

func newFaaSConf() (envs.Env, error) {
	return &faasconf{toy{spec: &sizingSpec, x: make([]float64, perLine*sized)}}, nil
}

func (f *faasconf) here(_, agent int) bool { return agent < 4 || agent == 4 && f.step >= 3 }

func (f *faasconf) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := f.begin(seed, options); err != nil {
		return err
	}
	f.see(obs)
	return nil
}

func (f *faasconf) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	for i := range sized {
		k.Active[i] = f.here(0, i)
		row := k.Values[6*i : 6*i+6]
		clear(row)
		if k.Active[i] {
			for j, v := range f.x[perLine*i : perLine*(i+1)] {
				row[j] = float32(v)
			}
			row[5] = 10
		}
	}
}

func (f *faasconf) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := f.admit(f.here, act); err != nil {
		return err
	}
	var price, latency float64
	for i := range sized {
		if !f.here(0, i) {
			continue
		}
		a, x := act.Kinds[0][4*i:4*i+4], f.x[perLine*i:]
		for j, v := range a {
			x[j] = float64(v)
		}
		cpu, replicas := 250+float64(1750*x[0]), 1+math.Floor(7*x[2])
		price += float64(cpu * 0.000173 * replicas)
		x[4] = float64(2000/(cpu*replicas)) * (0.5 + f.draw("service", f.step, uint64(i), 0))
		latency += x[4]
	}
	violated := 0.0
	if latency > 3 {
		violated = 1
	}
	for i := range sized {
		out.Rewards[0][i] = 0
		if f.here(0, i) {
			out.Rewards[0][i] = float32(-float64(0.1*price) - float64(0.5*violated))
		}
	}
	out.Info[0], out.Info[1], out.Info[2] = price, latency, violated
	f.end(out, false, f.step+1 == 15, 30_000_000)
	f.see(obs)
	return nil
}

func (f *faasconf) AppendSamples(_ int, dst []float64) []float64 {
	for i := range sized {
		if x := f.x[perLine*i+4]; x > 0 {
			dst = append(dst, x)
		}
	}
	return dst
}

// stepconf is StepConf: before each step of a workflow its memory (from a set), inter- and intra-function parallelism.
// A step lasts as long as it runs. State, in x: seconds since the start, the work of the next step.
type stepconf struct{ toy }

var memories = []int{512, 1024, 1769, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 10240}

const workflowSteps = 8

var stepSpec = envs.Spec{
	ID: "test/StepConf-v1", Doc: "Before each step of a workflow its memory and parallelism are set.",
	Kinds: []envs.Kind{{
		Name: "workflow", Agents: 1, Observation: envs.Unbounded(3), Features: []string{"step", "elapsed", "work"},
		Action: envs.MultiDiscrete{N: []int{len(memories), 60, 6}}, Actions: []string{"memory", "inter", "intra"},
		MaskAfter: stepMask,
	}},
	Step: envs.Timing{Unit: "workflow step"},
	Info: []envs.Quantity{{Name: "cost", Unit: "USD", Better: envs.Lower, Reduce: envs.Sum}},
}

func newStepConf() (envs.Env, error) {
	return &stepconf{toy{spec: &stepSpec, x: make([]float64, 2)}}, nil
}

// stepMask keeps p instances within the cluster's 96 cores and 192 GB, and q processes within an instance's cores. It
// has no need of what is seen.
func stepMask(_ *envs.KindObservation, _ int, partial []float32, mask []bool) error {
	for c := range mask {
		switch len(partial) {
		case 0:
			mask[c] = true
		case 1:
			m := memories[int(partial[0])]
			mask[c] = (c+1)*((m+2047)/2048) <= 96 && (c+1)*m <= 192*1024
		default:
			mask[c] = c*1769 < memories[int(partial[0])]
		}
	}
	return nil
}

func (s *stepconf) work() { s.x[1] = 20 + float64(80*s.draw("work", s.step, 0, 0)) }

func (s *stepconf) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := s.begin(seed, options); err != nil {
		return err
	}
	s.work()
	see(obs, 0, 0, s.x[1])
	return nil
}

func (s *stepconf) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := s.admit(nil, act); err != nil {
		return err
	}
	a := act.Kinds[0]
	m, p, q := memories[int(a[0])], float64(a[1]+1), float64(a[2]+1)
	var legal [60]bool
	for c := 1; c < 3; c++ {
		mask := legal[:envs.MultiDiscrete{N: []int{0, 60, 6}}.N[c]]
		if err := stepMask(nil, 0, a[:c], mask); err != nil {
			return err
		}
		if !mask[int(a[c])] {
			return fmt.Errorf("component %d is %g, which %d MB do not allow", c, a[c], m)
		}
	}
	seconds := 0.25 + float64(0.015*p) + s.x[1]/p/min(float64(m)/1769, q)*(0.9+0.2*s.draw("noise", s.step, 0, 0))
	s.x[0] += seconds
	out.Info[0] = p * (seconds*float64(m)/1024*1.66667e-5 + 2e-7)
	out.Rewards[0][0] = float32(-out.Info[0])
	s.end(out, s.step+1 == workflowSteps, false, int64(math.Round(seconds*1e6)))
	s.work()
	see(obs, float64(s.step), s.x[0], s.x[1])
	return nil
}

// optiserve is OptiServe: model variant and memory of every function, decided once. A variant needs a least memory.
type optiserve struct{ toy }

const (
	variants = 4
	sizes    = 16
)

var serveSpec = envs.Spec{
	ID: "test/OptiServe-v1", Doc: "Variant and memory of every function of a workflow are set once, for a deadline.",
	Kinds: []envs.Kind{{
		Name: "application", Agents: 1, Observation: envs.NewBox(2, 0, 10), Features: []string{"deadline", "accuracy"},
		Action:    envs.MultiDiscrete{N: []int{variants, sizes, variants, sizes, variants, sizes}},
		MaskAfter: serveMask,
	}},
	Step: envs.Timing{Unit: "problem"},
	Info: []envs.Quantity{{Name: "cost", Unit: "USD", Better: envs.Lower, Reduce: envs.Last}},
}

func newOptiServe() (envs.Env, error) {
	return &optiserve{toy{spec: &serveSpec, x: make([]float64, 2)}}, nil
}

func serveMask(_ *envs.KindObservation, _ int, partial []float32, mask []bool) error {
	for c := range mask {
		mask[c] = len(partial)%2 == 0 || c >= 3*int(partial[len(partial)-1])
	}
	return nil
}

func (o *optiserve) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := o.begin(seed, options); err != nil {
		return err
	}
	o.x[0], o.x[1] = 1+9*o.draw("deadline", 0, 0, 0), 3*o.draw("accuracy", 0, 0, 0)
	see(obs, o.x...)
	return nil
}

func (o *optiserve) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := o.admit(nil, act); err != nil {
		return err
	}
	var seconds, accuracy, cost float64
	for f := range 3 {
		v, m := act.Kinds[0][2*f], act.Kinds[0][2*f+1]
		if m < 3*v {
			return fmt.Errorf("function %d: variant %g needs memory %g, has %g", f, v, 3*v, m)
		}
		t := float64(1+v) * (0.5 + math.Exp2(-float64(m)/4))
		seconds += t
		accuracy += float64(v+1) / variants
		cost += float64(t * float64(m+1))
	}
	out.Info[0] = cost
	short := max(0, seconds-o.x[0]) + max(0, o.x[1]-accuracy)
	out.Rewards[0][0] = float32(-out.Info[0] - float64(100*short))
	o.end(out, true, false, 0)
	see(obs, o.x...)
	return nil
}
