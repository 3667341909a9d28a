package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

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
