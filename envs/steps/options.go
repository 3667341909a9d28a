package steps

import (
	"fmt"
	"math"
	"slices"
)

// Seconds predicts the time in seconds of a step with an option (an index into Options, or what Pack returned): that
// which it takes at most with probability quantile, where some of its instances are found warm. Quantile 0 asks for the
// mean.
func (m *Model) Seconds(step, option int, quantile float64, warm int) float64 {
	if m.Free(step) {
		return m.Steps[step].Wait
	}
	if m.fitted != nil {
		return m.fitted.seconds(m, step, m.configuration(step, option), quantile, warm)
	}
	o := m.Option(step, option)
	if warm == 0 && option < len(m.Options[step]) {
		switch quantile {
		case 0:
			return o.Mean
		case 0.5:
			return o.P50
		case 0.9:
			return o.P90
		}
	}
	t := m.Platform.times(&m.Steps[step], configuration{o.MB, o.Instances, o.Processes})
	var f forecast
	f.set(&m.Platform, &t, warm)
	if quantile == 0 {
		mean, _ := f.mean()
		return mean
	}
	return f.quantile(min(max(quantile, 1e-6), 1-1e-6))
}

// Times returns per step and option of its front the time in seconds that the step takes at most with probability
// quantile, without warm instances; quantile 0 asks for the mean. The table is made once.
func (m *Model) Times(quantile float64) [][]float64 {
	if t, ok := m.tables.Load(quantile); ok {
		return t.([][]float64)
	}
	t := make([][]float64, len(m.Steps))
	for s, options := range m.Options {
		for i := range options {
			t[s] = append(t[s], m.Seconds(s, i, quantile, 0))
		}
	}
	m.tables.Store(quantile, t)
	return t
}

// Option returns a step's option by an index into Options, or by what Pack returned: then its times and its price are
// worked out anew.
func (m *Model) Option(step, option int) Option {
	if option < len(m.Options[step]) {
		return m.Options[step][option]
	}
	return m.evaluate(new(forecast), step, m.unpack(option))
}

// configuration returns what an option is.
func (m *Model) configuration(step, option int) configuration {
	if option < len(m.Options[step]) {
		o := &m.Options[step][option]
		return configuration{o.MB, o.Instances, o.Processes}
	}
	return m.unpack(option)
}

// check says what is wrong with an option of a step.
func (m *Model) check(step, option int) error {
	if option >= 0 && option < len(m.Options[step]) {
		return nil
	}
	p := &m.Platform
	if n := option - packed; option < packed || n >= len(p.Memory)*p.MaxInstances*p.MaxProcesses {
		return fmt.Errorf("step %q: option %d is none of its front, which has %d", m.Steps[step].Name, option,
			len(m.Options[step]))
	}
	c := m.unpack(option)
	_, err := m.Pack(step, c.mb, c.instances, c.processes)
	return err
}

// evaluate works an option out, with the memory of a forecast.
func (m *Model) evaluate(f *forecast, step int, c configuration) Option {
	if m.fitted != nil {
		return m.fitted.evaluate(m, step, c)
	}
	p := &m.Platform
	t := p.times(&m.Steps[step], c)
	f.set(p, &t, 0)
	o := Option{MB: c.mb, Instances: c.instances, Processes: c.processes, P90: f.quantile(0.9)}
	o.Mean, o.P50 = f.mean()
	o.USD = p.price(c, o.Mean, t.meanRun())
	return o
}

// price is the price of a step that takes some seconds, whose instances run for some seconds on average.
func (p *Platform) price(c configuration, whole, run float64) float64 {
	if p.BillMapping {
		run = whole
	}
	return float64(c.instances) * (float64(p.perSecond(c.mb)*run) + p.perRun())
}

// packed is added to the numbers of configurations that are no index into Options.
const packed = 1 << 20

// Pack returns the number of a configuration of a step for what takes an option: its index where it is on the front.
// Errors say what is out of the platform's limits.
func (m *Model) Pack(step, mb, instances, processes int) (int, error) {
	k := slices.Index(m.Platform.Memory, mb)
	if k < 0 {
		return 0, fmt.Errorf("step %q: %d MB is no size of the platform, want one of %v", m.Steps[step].Name, mb,
			m.Platform.Memory)
	}
	most := m.MostInstances(step, mb)
	if most == 0 {
		return 0, fmt.Errorf("step %q: %d MB, want at least the %d MB that its code needs", m.Steps[step].Name, mb,
			m.Steps[step].MinMemory)
	}
	if instances < 1 || instances > most {
		return 0, fmt.Errorf("step %q: %d instances of %d MB, want 1 to %d", m.Steps[step].Name, instances, mb, most)
	}
	if most := m.MostProcesses(step, mb, instances); processes < 1 || processes > most {
		return 0, fmt.Errorf("step %q: %d processes in %d instances of %d MB, want 1 to %d", m.Steps[step].Name, processes,
			instances, mb, most)
	}
	for i, o := range m.Options[step] {
		if o.MB == mb && o.Instances == instances && o.Processes == processes {
			return i, nil
		}
	}
	return packed + ((k*m.Platform.MaxInstances)+instances-1)*m.Platform.MaxProcesses + processes - 1, nil
}

// unpack undoes Pack.
func (m *Model) unpack(option int) configuration {
	n := option - packed
	q, n := n%m.Platform.MaxProcesses, n/m.Platform.MaxProcesses
	return configuration{m.Platform.Memory[n/m.Platform.MaxInstances], n%m.Platform.MaxInstances + 1, q + 1}
}

// MostInstances is how many instances of a size a step can have: a task each at least, and as the workers hold; 0 of a
// size with which its code does not run.
func (m *Model) MostInstances(step, mb int) int {
	c := &m.Steps[step]
	if mb < c.MinMemory {
		return 0
	}
	return min(m.Platform.MaxInstances, limit(c.MaxInstances), c.Tasks, m.Platform.fit(mb))
}

// MostProcesses is how many processes an instance can have: a task each at least, and no more than it has cores, rounded
// up; one for code that uses several cores itself.
func (m *Model) MostProcesses(step, mb, instances int) int {
	c := &m.Steps[step]
	if c.Multicore {
		return 1
	}
	cores := max(1, int(math.Ceil(float64(mb)/m.Platform.SingleCore)))
	return min(m.Platform.MaxProcesses, limit(c.MaxProcesses), cores, (c.Tasks+instances-1)/instances)
}
