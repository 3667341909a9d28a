package steps

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/perfmodel/quantile"
	"github.com/stoker-rl/stoker/rng"
)

// fitted predicts as StepConf does (§3, §7.2): the computation of each step by eq. 1, fitted to profiling runs at five
// sizes; transfers by their number of objects and their size, and the mapping delay by the number of cold instances, each
// by quantile regression (eq. 2) on 100 invocations of the workflow's steps. A quantile of the step is the sum of the
// quantiles. That the slowest of several instances ends the step is left out of account, as it is there.
type fitted struct {
	laws              []memory.Pieces // per step
	transfer, mapping *quantile.Model // nil where nothing was transferred, or nothing started cold
}

// What StepConf profiles with.
const (
	profileSizes       = 5
	profileRuns        = 2 // of each size, number of tasks and number of processes
	profileInvocations = 100
)

// fitLevels are the levels of the regressions.
var fitLevels = []float64{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99}

// Fitted returns the workflow as it is known from profiling, in the manner of StepConf: its options and their predicted
// times are those of fitted laws and quantile regressions. SLOs and units stay those of the workflow itself. Seed names
// the draws of the profiling runs. The fits are not the same bits on every machine.
func (m *Model) Fitted(seed uint64) (*Model, error) {
	key := rng.New(seed, "steps/profile")
	known, err := m.App.estimate(func(p *Platform) { *p = m.Platform }, func(k *Model) (err error) {
		k.fitted, err = m.fit(key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("steps: estimates of workflow %s: %w", m.App.Name, err)
	}
	known.Fastest, known.Unit = m.Fastest, m.Unit
	return known, nil
}

// fit profiles the workflow.
func (m *Model) fit(key rng.Key) (*fitted, error) {
	f := &fitted{laws: make([]memory.Pieces, len(m.Steps))}
	for s := range m.Steps {
		if m.Free(s) {
			continue
		}
		c := &m.Steps[s]
		law, err := memory.FitPieces(m.profile(s, key.With(0).With(uint64(s))), c.Multicore,
			memory.Options{SingleCore: m.Platform.SingleCore})
		if err != nil {
			return nil, fmt.Errorf("step %q: %w", c.Name, err)
		}
		f.laws[s] = law
	}
	return f, f.regress(m, key.With(1))
}

// profile measures the computation of a step's instances: at five sizes, with shares of its tasks, in one process and in
// as many as there may be.
func (m *Model) profile(s int, key rng.Key) []memory.Job {
	c, p := &m.Steps[s], &m.Platform
	noise := law(spread{1, p.ComputeCV})
	var out []memory.Job
	for k, mb := range profiled(p.Memory) {
		last := 0
		for share := 1; share <= c.Tasks && share <= p.MaxInstances; share *= 4 {
			tasks := (c.Tasks + share - 1) / share
			if tasks == last {
				continue
			}
			last = tasks
			for _, q := range slices.Compact([]int{1, m.MostProcesses(s, mb, share)}) {
				for run := range profileRuns {
					draw := noise.draw(key.With(uint64(k)).With(uint64(share)).With(uint64(q)).With(uint64(run)))
					out = append(out, memory.Job{Jobs: float64(tasks), MB: float64(mb), Q: m.usable(s, q),
						Seconds: float64(p.compute(c, tasks, mb, q) * draw)})
				}
			}
		}
	}
	return out
}

// usable is the number of cores that an instance of a step can use in some processes.
func (m *Model) usable(s, processes int) float64 {
	if !m.Steps[s].Multicore {
		return float64(processes)
	}
	if most := m.Steps[s].Law.Cores; most > 0 {
		return most
	}
	return float64(m.Platform.Memory[len(m.Platform.Memory)-1]) / m.Platform.SingleCore
}

// profiled are five of a platform's sizes, doubling and with its largest one, as 512, 1024, 2048, 4096 and 10240 MB.
func profiled(sizes []int) []int {
	out := []int{sizes[0]}
	for _, mb := range sizes {
		if mb >= 2*out[len(out)-1] && len(out) < profileSizes-1 {
			out = append(out, mb)
		}
	}
	return slices.Compact(append(out, sizes[len(sizes)-1]))
}

// regress fits the quantiles of transfers and mapping delays to invocations of the steps with options from their fronts.
func (f *fitted) regress(m *Model, key rng.Key) error {
	var moved, started [][]float64
	var took, mapped []float64
	var p Player
	var busy []int
	for s := range m.Steps {
		if !m.Free(s) {
			busy = append(busy, s)
		}
	}
	for i := range profileInvocations {
		k := key.With(uint64(i))
		s := busy[k.With(0).IntN(len(busy))]
		c, option := &m.Steps[s], k.With(1).IntN(len(m.Options[s]))
		o := m.configuration(s, option)
		for j, t := range []*Transfer{&c.Download, &c.Upload} {
			if n := t.objects(o.instances); n > 0 {
				l := law(m.Platform.Storage.transfer(t, o.instances))
				moved, took = append(moved, []float64{float64(n), t.MB}), append(took, l.draw(k.With(2).With(uint64(j))))
			}
		}
		started = append(started, []float64{float64(o.instances)})
		mapped = append(mapped, p.Measure(m, s, option, 0, k.With(3)).Mapping)
	}
	var err error
	if f.transfer, err = regression(moved, took); err != nil {
		return err
	}
	f.mapping, err = regression(started, mapped)
	return err
}

// regression fits eq. 2 with as many terms as there are rows for.
func regression(rows [][]float64, y []float64) (*quantile.Model, error) {
	o := quantile.Full()
	if len(rows) > 0 && len(rows) < 4*o.Columns(len(rows[0])) {
		o = quantile.Options{}
	}
	if len(rows) == 0 || len(rows) < o.Columns(len(rows[0])) {
		return nil, nil
	}
	return quantile.Fit(rows, y, fitLevels, o)
}

// at returns a model's quantile at a level, between its own on a straight line, and at least 0; 0 asks for the mean.
func at(m *quantile.Model, level float64, row ...float64) float64 {
	if m == nil {
		return 0
	}
	var columns [6]float64
	var values [8]float64
	x := m.Options.Append(columns[:0], row)
	for i, c := range m.Coefficients {
		for j, v := range x {
			values[i] += float64(c[j] * v)
		}
	}
	q := values[:len(m.Levels)]
	slices.Sort(q)
	if level == 0 { // of the 10th, 50th and 90th percentile, by Swanson's rule
		return max(0, float64(0.3*q[1])+float64(0.4*q[3])+float64(0.3*q[5]))
	}
	k, found := slices.BinarySearch(m.Levels, level)
	switch {
	case found:
		return max(0, q[k])
	case k == 0:
		return max(0, q[0])
	case k == len(q):
		return max(0, q[k-1])
	}
	part := (level - m.Levels[k-1]) / (m.Levels[k] - m.Levels[k-1])
	return max(0, q[k-1]+float64(part*(q[k]-q[k-1])))
}

// parts returns the quantiles of a step's mapping delay and of what its instances take; level 0 asks for the means.
func (f *fitted) parts(m *Model, s int, c configuration, level float64, warm int) (mapping, run float64) {
	step := &m.Steps[s]
	if cold := c.instances - warm; cold > 0 {
		mapping = at(f.mapping, level, float64(cold))
	}
	tasks := (step.Tasks + c.instances - 1) / c.instances
	run = f.laws[s].Seconds(float64(tasks), float64(c.mb), m.usable(s, c.processes))
	for _, t := range []*Transfer{&step.Download, &step.Upload} {
		if n := t.objects(c.instances); n > 0 {
			run += at(f.transfer, level, float64(n), t.MB)
		}
	}
	return mapping, run
}

// seconds predicts a step's time.
func (f *fitted) seconds(m *Model, s int, c configuration, level float64, warm int) float64 {
	mapping, run := f.parts(m, s, c, level, warm)
	return mapping + run
}

// evaluate works an option out.
func (f *fitted) evaluate(m *Model, s int, c configuration) Option {
	mapping, run := f.parts(m, s, c, 0, 0)
	o := Option{MB: c.mb, Instances: c.instances, Processes: c.processes, Mean: mapping + run}
	o.P50, o.P90 = f.seconds(m, s, c, 0.5, 0), f.seconds(m, s, c, 0.9, 0)
	o.USD = m.Platform.price(c, o.Mean, run)
	return o
}
