package frontier

import (
	"context"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// Option is one way to run a function.
type Option struct {
	Seconds float64 // mean time of a run
	USD     float64 // expected price of a run
}

// Problem is a workflow whose functions have options.
type Problem struct {
	Flow    *workflow.Workflow
	Delays  workflow.Delays
	Options [][]Option // per function, at least one each
}

// Point is a configuration.
type Point struct {
	Seconds float64 // response time of a request, Flow.Response up to rounding
	USD     float64 // price of a request: the sum over functions of expected runs times the price of a run
	Choice  []int   // the option of each function
}

// Front is a list of configurations, times rising and prices falling.
type Front []Point

// Cheapest returns the cheapest point of a response time of at most so many seconds, and false if there is none.
func (f Front) Cheapest(seconds float64) (Point, bool) {
	lo, hi := 0, len(f)
	for lo < hi {
		if mid := (lo + hi) / 2; f[mid].Seconds <= seconds {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return Point{}, false
	}
	return f[lo-1], true
}

// Fastest returns the fastest point of a price of at most so many USD a request, and false if there is none.
func (f Front) Fastest(usd float64) (Point, bool) {
	lo, hi := 0, len(f)
	for lo < hi {
		if mid := (lo + hi) / 2; f[mid].USD > usd {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(f) {
		return Point{}, false
	}
	return f[lo], true
}

// Exact returns all configurations that no other one dominates: of those that are no slower and no dearer, one of equal
// time and price is kept. Numbers that differ by less than 1e-12 of their size count as equal. It fails if the
// problem is not well formed, if the workflow's response time has no parts ([workflow.Workflow.Parts]), and when the
// context is done: below a fork with branches, or where edges cross, the work can grow with the number of configurations.
func Exact(ctx context.Context, p Problem) (Front, error) { return solve(ctx, p, 0) }

func solve(ctx context.Context, p Problem, gap float64) (Front, error) {
	t, err := p.term()
	if err != nil {
		return nil, err
	}
	s := solver{ctx: ctx, problem: &p, trim: tie}
	if gap > 0 {
		s.trim = math.Pow(1+gap, 1/float64(t.depth())) - 1
	}
	st, err := s.front(t)
	if err != nil {
		return nil, err
	}
	return p.points(st), nil
}

// points writes a front's labels out.
func (p *Problem) points(st *stair) Front {
	functions := p.Flow.NumFunctions()
	out := make(Front, len(st.labels))
	choices := make([]int, len(out)*functions)
	for i, l := range st.labels {
		c := choices[i*functions:][:functions:functions]
		st.choose(c, i)
		out[i] = Point{l.t, l.c, c}
	}
	return out
}

// check says what of a problem is not well formed.
func (p *Problem) check() error {
	if p.Flow == nil {
		return fmt.Errorf("frontier: the problem has no workflow")
	}
	if len(p.Options) != p.Flow.NumFunctions() {
		return fmt.Errorf("frontier: there are options for %d functions, want %d", len(p.Options), p.Flow.NumFunctions())
	}
	for f, options := range p.Options {
		name := p.Flow.Functions()[f]
		if len(options) == 0 {
			return fmt.Errorf("frontier: function %q has no options, want at least one", name)
		}
		for i, o := range options {
			if !(o.Seconds >= 0) || math.IsInf(o.Seconds, 0) || !(o.USD >= 0) || math.IsInf(o.USD, 0) {
				return fmt.Errorf("frontier: option %d of function %q takes %v s and costs %v USD, want finite numbers of at "+
					"least 0", i, name, o.Seconds, o.USD)
			}
		}
	}
	return nil
}
