package steps

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// reset gives a runner a platform of its own.
func (r *runner) reset(p *Platform) {
	r.platform, r.room = p, &room{}
	r.room.reset(p)
}

// sampled runs a step many times and returns its times ascending, and its mean price.
func sampled(m *Model, step int, c configuration, warm, runs int) (times []float64, usd float64) {
	var r runner
	r.reset(&m.Platform)
	for i := range runs {
		r.room.reset(&m.Platform)
		x := r.run(rng.New(uint64(i), "test/run"), &m.Steps[step], step, c, 0, warm)
		times = append(times, x.seconds)
		usd += x.usd / float64(runs)
	}
	slices.Sort(times)
	return times, usd
}

// check compares what is predicted of an option with simulated runs, and returns by what share mean, median, P90 and price
// are off.
func check(m *Model, step, option, warm int) [4]float64 {
	const runs = 4000
	times, usd := sampled(m, step, m.configuration(step, option), warm, runs)
	mean := 0.0
	for _, x := range times {
		mean += x / runs
	}
	off := [4]float64{m.Seconds(step, option, 0, warm)/mean - 1, m.Seconds(step, option, 0.5, warm)/times[runs/2] - 1,
		m.Seconds(step, option, 0.9, warm)/times[runs*9/10] - 1, m.Option(step, option).USD/usd - 1}
	if warm > 0 {
		off[3] = 0 // prices are predicted without warm instances
	}
	return off
}

// The predicted quantiles, means and prices are those of simulated runs. What a step's instances take is a sum of
// lognormal times, predicted by its first three moments; chance of 4,000 runs is about 1 %.
func TestPredictionsHold(t *testing.T) {
	var worst [4]float64
	for number := range uint64(4) {
		a := must.Get(Generate(number, DefaultGenerated()))(t)
		for name, change := range map[string]func(*Platform){"simulated": func(*Platform) {},
			"formula": func(p *Platform) { p.Formula = true }, "own run": func(p *Platform) { p.BillMapping = false }} {
			m := must.Get(a.compile(change))(t)
			s := int(number) % m.NumSteps()
			for i := 0; i < len(m.Options[s]); i += 1 + len(m.Options[s])/4 {
				for _, warm := range []int{0, 3} {
					for k, off := range check(m, s, i, warm) {
						worst[k] = max(worst[k], math.Abs(off))
						if math.Abs(off) > 0.03 {
							t.Errorf("workflow %d, %s, step %d, option %d, %d warm: quantity %d is off by %.3f", number, name, s, i, warm, k, off)
						}
					}
				}
			}
		}
	}
	t.Logf("worst: mean %.4f, median %.4f, P90 %.4f, price %.4f", worst[0], worst[1], worst[2], worst[3])
}

// Beyond the limit on instances at a time, those that wait are predicted to begin where the ones before them end on
// average, and so the step a little too early.
func TestPredictionsBeyondTheLimit(t *testing.T) {
	a := must.Get(Preset("chain"))(t)
	m := must.Get(a.Compile())(t)
	for _, instances := range []int{41, 48, 60} {
		o := must.Get(m.Pack(1, 2048, instances, 1))(t)
		off := check(m, 1, o, 0)
		t.Logf("%d instances: mean, median, P90, price are off by %.3f", instances, off)
		for _, x := range off {
			if math.Abs(x) > 0.06 {
				t.Errorf("%d instances: mean, median, P90, price are off by %.3f, want less than 0.06", instances, off)
			}
		}
	}
}
