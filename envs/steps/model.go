package steps

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Model is an [App] worked out. It never changes and may be used by several goroutines; callers must not write to it.
type Model struct {
	App      *App
	Flow     *workflow.Workflow // node, function and step have the same number
	Platform Platform
	// Steps are the steps in the order of the workflow's nodes.
	Steps []StepConfig
	// Options are per step its front over the time that it takes with probability 0.9 and its price, times ascending; a
	// state that does nothing has one option, which takes no time.
	Options [][]Option
	// Runs is the expected number of runs of each step in a request: below 1 behind a branch.
	Runs []float64
	// Fastest is the least time in seconds that the request takes on its longest path, each step at its P90. SLOs are
	// factors on it.
	Fastest float64
	// Unit is the expected price in USD of a request whose steps each have the option of the least USD·P90 (StepConf, eq.
	// 13 as arg min). Rewards and prices of a miss are in this unit.
	Unit float64
	// Best is per step the option that Unit is of.
	Best []int

	fitted *fitted  // predicts in place of the platform's own laws; nil where these are known
	edges  [][]edge // from each step
	before []int    // per step the number of edges that lead to it
	full   []fullSet
	tables sync.Map // quantile → [][]float64
	ahead  lazyLevels
	shared sharedPlans
}

// Option is one configuration of a step.
type Option struct {
	// MB is the memory of an instance (m), Instances their number (p), Processes those of an instance (q).
	MB, Instances, Processes int
	// Mean, P50 and P90 are seconds of the whole step without warm instances.
	Mean, P50, P90 float64
	// USD is the expected price of the step.
	USD float64
}

// edge leads from one step to another, or to the end (-1).
type edge struct {
	to int
	p  float64 // of a branch; 0 is always taken
}

// fullSet is made when it is asked for.
type fullSet struct {
	once    sync.Once
	options []Option
}

// mostOptions bounds the options of a step's front.
const mostOptions = 64

// Compile checks the workflow and works it out. An error names the key that is wrong, such as steps[1].law.a.
func (a App) Compile() (*Model, error) { return a.compile(func(*Platform) {}) }

// compile is Compile on a platform that is changed first.
func (a App) compile(change func(*Platform)) (*Model, error) {
	return a.estimate(change, func(*Model) error { return nil })
}

// estimate is compile with predictions that are set before the options are worked out.
func (a App) estimate(change func(*Platform), set func(*Model) error) (*Model, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	m := &Model{App: &a, Platform: a.Where()}
	change(&m.Platform)
	if err := m.Platform.Validate(); err != nil {
		return nil, bounds.Errorf("own", "%s", err)
	}
	if err := m.arrange(); err != nil {
		return nil, err
	}
	if err := set(m); err != nil {
		return nil, err
	}
	m.full = make([]fullSet, len(m.Steps))
	for s := range m.Steps {
		m.Options = append(m.Options, m.front(s))
	}
	m.measure()
	return m, m.checkSLO()
}

// arrange compiles the graph and puts the steps in its order.
func (m *Model) arrange() error {
	a := m.App
	graph := a.Workflow
	graph.Functions = nil // steps have their nodes' numbers
	if graph.Name == "" {
		graph.Name = a.Name
	}
	var err error
	if m.Flow, err = graph.Compile(); err != nil {
		return bounds.Errorf("workflow", "%s", strings.TrimPrefix(err.Error(), "workflow "))
	}
	graph = m.Flow.Graph()
	if m.Flow.NumFunctions() != m.Flow.NumNodes() {
		return bounds.Errorf("workflow", "has a function that runs at several nodes: each step is configured by itself, so "+
			"each node wants a function of its own")
	}
	number := make(map[string]int, len(graph.Nodes))
	for n, node := range graph.Nodes {
		number[node.Name] = n
	}
	m.edges, m.before = make([][]edge, len(graph.Nodes)), make([]int, len(graph.Nodes))
	for i, e := range graph.Edges {
		if e.Kind != workflow.Next && e.Kind != workflow.Branch {
			return bounds.Errorf(fmt.Sprintf("workflow.edges[%d].kind", i), "is %s, want next or branch: steps have neither "+
				"loops nor calls", e.Kind)
		}
		from, to := number[e.From], -1
		if e.To != workflow.End {
			to = number[e.To]
			m.before[to]++
		}
		p := 0.0
		if e.Kind == workflow.Branch {
			p = e.Probability
		}
		m.edges[from] = append(m.edges[from], edge{to, p})
	}
	m.Runs = m.Flow.Executions()
	return m.place(number)
}

// place puts the steps in the order of the nodes.
func (m *Model) place(number map[string]int) error {
	m.Steps = make([]StepConfig, len(number))
	seen := make([]bool, len(number))
	for i := range m.App.Steps {
		c := m.App.Steps[i]
		key := fmt.Sprintf("steps[%d]", i)
		n, ok := number[c.Name]
		switch {
		case !ok:
			return bounds.Errorf(key+".name", "is %q, which is no node of the workflow: want one of %s", c.Name,
				strings.Join(m.Flow.Functions(), ", "))
		case seen[n]:
			return bounds.Errorf(key+".name", "is %q, which is there twice", c.Name)
		}
		if err := c.validate(key, &m.Platform); err != nil {
			return err
		}
		seen[n], m.Steps[n] = true, c
	}
	if n := slices.Index(seen, false); n >= 0 {
		return bounds.Errorf("steps", "lack %q, which is a node of the workflow", m.Flow.NodeName(n))
	}
	return nil
}

// measure fills in what follows from the options.
func (m *Model) measure() {
	fastest := make([]float64, len(m.Steps))
	for s, options := range m.Options {
		fastest[s] = options[0].P90
		best := 0
		for i, o := range options {
			if float64(o.USD*o.P90) < float64(options[best].USD*options[best].P90) {
				best = i
			}
		}
		m.Best = append(m.Best, best)
		m.Unit += float64(m.Runs[s] * options[best].USD)
	}
	m.Fastest = m.Longest(fastest)
}

// Longest returns the length of the longest path where step s takes seconds[s]; a branch counts as its longest
// alternative.
func (m *Model) Longest(seconds []float64) float64 {
	tail := make([]float64, len(seconds))
	m.tails(seconds, tail)
	return tail[m.Flow.Entry()]
}

// NumSteps returns the number of steps.
func (m *Model) NumSteps() int { return len(m.Steps) }

// Free reports whether a step does nothing, so that nothing is to choose.
func (m *Model) Free(step int) bool { return m.Steps[step].Tasks == 0 }

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
	return min(m.Platform.MaxProcesses, limit(c.MaxProcesses), m.Platform.CoresOf(mb), (c.Tasks+instances-1)/instances)
}
