package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

// The best configuration within a bound is the one on the exact front, for graphs of all shapes, at every bound.
func TestSingleIsOnTheFront(t *testing.T) {
	ctx := context.Background()
	asked := 0
	for seed := range uint64(60) {
		p := generated(t, seed, 3000)
		exact := must.Get(frontier.Exact(ctx, p))(t)
		stride := max(1, len(exact)/7)
		for i := 0; i < len(exact); i += stride {
			want := exact[i]
			var next frontier.Point
			if i+1 < len(exact) {
				next = exact[i+1]
			} else {
				next = frontier.Point{Seconds: 2 * want.Seconds, USD: want.USD / 2}
			}
			for _, share := range []float64{0, 0.5} { // at the point, and between it and the next
				asked++
				cheap, err := frontier.Cheapest(ctx, p, want.Seconds+share*(next.Seconds-want.Seconds))
				if err = right(p, cheap, err); err != nil || math.Abs(cheap.USD/want.USD-1) > 1e-9 {
					t.Fatalf("app %d: cheapest %v (%v), want %v", seed, cheap, err, want)
				}
				// The same point is the fastest at its price, and the next at any lower one.
				fast, err := frontier.Fastest(ctx, p, next.USD+(1-share)*(want.USD-next.USD))
				best := want.Seconds
				if share > 0 {
					best = next.Seconds
				}
				if i+1 == len(exact) && share > 0 {
					if !errors.Is(err, frontier.ErrNone) {
						t.Fatalf("app %d: a configuration of half the least price: %v, %v", seed, fast, err)
					}
					continue
				}
				if err = right(p, fast, err); err != nil || math.Abs(fast.Seconds/best-1) > 1e-9 {
					t.Fatalf("app %d: fastest %v (%v), want %v s", seed, fast, err, best)
				}
			}
		}
		if _, err := frontier.Cheapest(ctx, p, 0.999*exact[0].Seconds); !errors.Is(err, frontier.ErrNone) {
			t.Fatalf("app %d: faster than the fastest: %v", seed, err)
		}
	}
	t.Logf("%d bounds", asked)
}

// right checks that an answer's choice gives what it says, and that it says to be exact.
func right(p frontier.Problem, a frontier.Answer, err error) error {
	if err != nil {
		return err
	}
	if !a.Exact {
		return fmt.Errorf("not exact: bound %v", a.Bound)
	}
	return verify(p, frontier.Front{a.Point})
}

// Where edges cross, one configuration of 24 functions is found at once. A search that is stopped says by how much its
// answer can be improved.
func TestSingleCrossing(t *testing.T) {
	for seed := range uint64(3) {
		p := crossing(t, 24, seed)
		fast, err := frontier.Fastest(context.Background(), p, math.Inf(1))
		if err = right(p, fast, err); err != nil {
			t.Fatal(err)
		}
		a, err := frontier.Cheapest(context.Background(), p, 1.5*fast.Seconds)
		if err = right(p, a, err); err != nil || a.Seconds > 1.5*fast.Seconds*(1+1e-9) {
			t.Fatalf("%v, %v", a, err)
		}
		back, err := frontier.Fastest(context.Background(), p, a.USD)
		if err = right(p, back, err); err != nil || back.Seconds > a.Seconds*(1+1e-9) {
			t.Fatalf("%v, %v: slower than %v", back, err, a)
		}
		done, stop := context.WithCancel(context.Background())
		stop()
		some, err := frontier.Cheapest(done, p, 1.5*fast.Seconds)
		if err != nil || some.Exact || some.Bound > a.USD || some.USD < a.USD*(1-1e-9) || some.USD > 1.1*a.USD {
			t.Errorf("stopped: %v of bound %v (%v), the optimum is %v", some.USD, some.Bound, err, a.USD)
		}
	}
}

// crossing returns a generated graph whose edges cross, 16 options a function.
func crossing(t testing.TB, functions int, seed uint64) frontier.Problem {
	t.Helper()
	g := must.Get(workflow.Generate(workflow.GenerateConfig{Functions: functions, Seed: seed, Shape: workflow.Crossing}))(t)
	return sized(t, g, 16, seed)
}

// The cheapest configuration of crossing graphs at 1.2, 1.5 and 2 times the fastest, 12 graphs of each size.
func BenchmarkCheapest(b *testing.B) {
	for _, functions := range []int{24, 60} {
		b.Run(fmt.Sprint(functions), func(b *testing.B) {
			var worst, proven, all float64
			for b.Loop() {
				for seed := range uint64(12) {
					p := crossing(b, functions, seed)
					fast := must.Get(frontier.Fastest(context.Background(), p, math.Inf(1)))(b)
					for _, factor := range []float64{1.2, 1.5, 2} {
						begin := b.Elapsed()
						ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
						a, err := frontier.Cheapest(ctx, p, factor*fast.Seconds)
						stop()
						must.Do(b, err)
						if all++; a.Exact {
							proven++
						}
						worst = max(worst, (b.Elapsed() - begin).Seconds())
					}
				}
			}
			b.ReportMetric(100*proven/all, "%proven")
			b.ReportMetric(worst, "s-worst")
		})
	}
}
