package placement

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

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
