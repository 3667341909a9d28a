package placement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// workflow is a workflow as it is configured or drawn.
type workflow struct {
	name  string
	steps []step
	ideal float64 // seconds of the critical path at amount 1 and speed 1, warm and without transfers
	work  float64 // resource-seconds of all steps, as shares of the largest node
}

// step is a step of a workflow.
type step struct {
	function     int32
	work, output float64
	after, next  []int32
	level        int32   // length of the longest path that leads to it
	peers        int32   // number of steps of its level
	tail         float64 // seconds of the longest path from its start to the end
	weight       float64 // its part of workflow.work
}

// given adds the functions and workflows of the configuration.
func (s *System) given() (shares []float64, err error) {
	numbers := map[string]int32{}
	for i, f := range s.config.Functions {
		if err := s.addFunction(f, 0); err != nil {
			return nil, err
		}
		numbers[f.Name] = int32(i)
	}
	for i, w := range s.config.Workflows {
		at := fmt.Sprintf("workflows[%d] (%s)", i, w.Name)
		if !(w.Share >= 0 && w.Share <= 1e9) {
			return nil, fmt.Errorf("%s: share is %g, want 0 to 1e9", at, w.Share)
		}
		names := map[string]int32{}
		for j, st := range w.Steps {
			if _, ok := names[st.Name]; ok {
				return nil, fmt.Errorf("%s: steps[%d] is named %q as one before it, want distinct names", at, j, st.Name)
			}
			names[st.Name] = int32(j)
		}
		steps := make([]step, len(w.Steps))
		for j, st := range w.Steps {
			f, ok := numbers[st.Function]
			if !ok {
				return nil, fmt.Errorf("%s: steps[%d] (%s) invokes %q, which is not among the functions", at, j, st.Name,
					st.Function)
			}
			steps[j] = step{function: f, work: st.Work, output: st.Output}
			for _, name := range st.After {
				p, ok := names[name]
				if !ok {
					return nil, fmt.Errorf("%s: steps[%d] (%s) comes after %q, which is not among the steps: the edge dangles", at,
						j, st.Name, name)
				}
				steps[j].after = append(steps[j].after, p)
			}
		}
		label := func(j int32) string { return w.Steps[j].Name }
		if err := s.addWorkflow(at, w.Name, steps, label); err != nil {
			return nil, err
		}
		shares = append(shares, w.Share)
	}
	return shares, nil
}

// leastWork is the seconds of the shortest step allowed: with it, sums of 1/ideal over all requests fit 64 bits.
const leastWork = 1e-3

// addWorkflow adds a workflow whose steps name their predecessors; label names a step in errors.
func (s *System) addWorkflow(at, name string, steps []step, label func(int32) string) error {
	if len(steps) < 1 || len(steps) > 1<<8 {
		return fmt.Errorf("%s has %d steps, want 1 to 256", at, len(steps))
	}
	for i := range steps {
		st := &steps[i]
		if least := leastWork / s.config.Size.Low; !(st.work >= least && st.work <= 1e6) ||
			!(st.output >= 0 && st.output <= 1e9) {
			return fmt.Errorf("%s: step %s works for %g s and passes on %g MB, "+
				"want %g (%g s for the smallest input) to 1e6 and 0 to 1e9", at, label(int32(i)),
				st.work, st.output, least, leastWork)
		}
		slices.Sort(st.after)
		st.after = slices.Compact(st.after)
		for _, p := range st.after {
			if p < 0 || int(p) >= len(steps) {
				return fmt.Errorf("%s: step %s comes after step %d, want 0 to %d: the edge dangles", at, label(int32(i)), p,
					len(steps)-1)
			}
			steps[p].next = append(steps[p].next, int32(i))
		}
	}
	order, cycle := sorted(steps)
	if cycle != nil {
		names := make([]string, len(cycle))
		for i, j := range cycle {
			names[i] = label(j)
		}
		return fmt.Errorf("%s: its steps depend on each other in a cycle: %s", at, strings.Join(names, " → "))
	}
	t := workflow{name: name, steps: steps}
	for _, i := range order {
		for _, p := range steps[i].after {
			steps[i].level = max(steps[i].level, steps[p].level+1)
		}
	}
	for _, i := range slices.Backward(order) {
		st := &steps[i]
		for _, n := range st.next {
			st.tail = max(st.tail, steps[n].tail)
		}
		st.tail += st.work
		t.ideal = max(t.ideal, st.tail)
		for j := range steps {
			if steps[j].level == st.level {
				st.peers++
			}
		}
		for r, d := range s.functions[st.function].demand[s.nominal] {
			if s.largest[r] > 0 {
				st.weight += float64(st.work*float64(d)) / float64(s.largest[r])
			}
		}
		t.work += st.weight
	}
	s.workflows = append(s.workflows, t)
	return nil
}

// sorted returns the steps in topological order, or else a cycle of them.
func sorted(steps []step) (order, cycle []int32) {
	left := make([]int, len(steps))
	for i := range steps {
		if left[i] = len(steps[i].after); left[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for k := 0; k < len(order); k++ {
		for _, n := range steps[order[k]].next {
			if left[n]--; left[n] == 0 {
				order = append(order, n)
			}
		}
	}
	if len(order) == len(steps) {
		return order, nil
	}
	// Each step that is left waits for another of them, so following predecessors leads round a cycle.
	at := int32(slices.IndexFunc(left, func(n int) bool { return n > 0 }))
	for !slices.Contains(cycle, at) {
		cycle = append(cycle, at)
		before := steps[at].after
		at = before[slices.IndexFunc(before, func(p int32) bool { return left[p] > 0 })]
	}
	cycle = append(cycle[slices.Index(cycle, at):], at)
	slices.Reverse(cycle)
	return nil, cycle
}

// at maps a uniform number from [0, 1) to the span.
func (s Span) at(u float64) float64 { return s.Low + float64(u*(s.High-s.Low)) }

// whole is at, rounded to the nearest whole number.
func (s Span) whole(u float64) int { return int(math.Floor(s.at(u) + 0.5)) }

// drawn draws functions and workflows of each class from the system's seed. The predecessor of a step is drawn from the
// steps before it; with probability Join it has a second one.
func (s *System) drawn() (shares []float64, err error) {
	c := &s.config
	for k := range c.Classes {
		class := &c.Classes[k]
		first := len(s.functions)
		for i := range class.Functions {
			f := drawFunction(class, fmt.Sprintf("%s-%d", class.Name, i),
				rng.New(c.System, "function").With(uint64(k)).With(uint64(i)))
			if err := s.addFunction(f, k); err != nil {
				return nil, err
			}
		}
		share := class.Share
		if c.Workload == Mixed {
			share = 1
		}
		for i := range class.Workflows {
			name := fmt.Sprintf("%s-workflow-%d", class.Name, i)
			steps := drawSteps(c, class, first, rng.New(c.System, "workflow").With(uint64(k)).With(uint64(i)))
			if err := s.addWorkflow(name, name, steps, func(j int32) string { return fmt.Sprint(j) }); err != nil {
				return nil, err
			}
			shares = append(shares, share/float64(class.Workflows))
		}
	}
	return shares, nil
}

func drawFunction(class *FunctionClass, name string, k rng.Key) Function {
	u := func(i uint64) float64 { return k.With(i).Float64() }
	return Function{
		Name: name, CPU: class.CPU.whole(u(0)), Memory: class.Memory.whole(u(1)), Network: class.Network.whole(u(2)),
		GPU:   class.GPU.whole(u(3)),
		Image: class.Image.at(u(4)), Parallel: class.Parallel.at(u(5)),
	}
}

func drawSteps(c *Config, class *FunctionClass, first int, k rng.Key) []step {
	steps := make([]step, c.Steps.Low+k.With(0).IntN(c.Steps.High-c.Steps.Low+1))
	for j := range steps {
		d := k.With(1 + uint64(j))
		steps[j] = step{
			function: int32(first + d.With(0).IntN(class.Functions)),
			work:     class.Work.at(d.With(1).Float64()), output: class.Output.at(d.With(2).Float64()),
		}
		if j > 0 {
			steps[j].after = append(steps[j].after, int32(d.With(3).IntN(j)))
			if d.With(4).Float64() < c.Join {
				steps[j].after = append(steps[j].after, int32(d.With(5).IntN(j)))
			}
		}
	}
	return steps
}

// shortestWork is the least work of a function of the trace, in seconds: some durations there are 0.
const shortestWork = 0.01

// fromTrace takes the functions of the Azure trace, each a workflow of one step. Work is the mean duration, cut at
// Longest; memory is the mean of the function's application. What the trace does not say is drawn from the first class,
// by the function's index.
func (s *System) fromTrace(w workload.Config) (shares []float64, err error) {
	w.Kind, w.Streams, w.Factor, w.Mean = workload.Azure2019, workload.StreamsFunction, 1, 0
	source, err := workload.Open(w)
	if err != nil {
		return nil, err
	}
	if len(s.config.Classes) == 0 {
		return nil, fmt.Errorf("classes are none, want one for what the trace does not say of its functions")
	}
	class := &s.config.Classes[0]
	trace := source.Trace()
	for i := range trace.Functions {
		f := &trace.Functions[i]
		k := rng.New(s.config.System, "function of the trace").With(uint64(i))
		name := fmt.Sprintf("azure-%d-%.8s", i, f.Name)
		g := drawFunction(class, name, k)
		g.GPU = 0
		if f.Memory.Samples > 0 {
			g.Memory = min(max(int(f.Memory.Average), 1), int(s.largest[Memory]))
		}
		if err := s.addFunction(g, 0); err != nil {
			return nil, err
		}
		work := class.Work.at(k.With(6).Float64())
		if f.Duration.Samples > 0 {
			work = min(max(f.Duration.Average/1000, shortestWork), s.config.Longest)
		}
		steps := []step{{function: int32(i), work: work}}
		if err := s.addWorkflow(name, name, steps, func(j int32) string { return fmt.Sprint(j) }); err != nil {
			return nil, err
		}
		shares = append(shares, float64(f.Total()))
	}
	s.source = source
	return shares, nil
}
