package sizing

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// randomly draws every configuration uniformly.
type randomly struct {
	envs.Tuner
	stream *rng.Stream
}

func (r randomly) Reset(uint64) error { return nil }

func (r randomly) Propose(_ *envs.Observation, act *envs.Action) error {
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = float32(r.stream.Float64())
	}
	return nil
}

func (r randomly) Observe(*envs.Action, *envs.Outcome) error { return nil }

// The described features stay in the range that the field's networks like, under policies that serve and that do not,
// from a quarter of the usual load to four times it: standardised over all of them, none is beyond ±10, and apart from
// the description none is constant. Run with -v for the table.
func TestDescribedRanges(t *testing.T) {
	var rows [][]float32
	var kind envs.Kind
	play := func(flow string, factor float64, windows int, build func(e *sizing.Env) (rollout.Actor, error)) {
		c := sizing.DefaultCounted()
		c.Workflow, c.Windows, c.Features, c.Reward.Dial = flow, windows, sizing.Described, []float64{0.5, 8}
		w := sizing.DefaultWorkload()
		w.Factor *= workload.Factor(factor)
		e := must.Get(sizing.NewCounted(c, w))(t)
		a := must.Get(build(e))(t)
		kind = e.Spec().Kinds[0]
		r := rollout.NewRunner(e)
		r.OnStep = func(x rollout.Step) {
			for row := range slices.Chunk(x.After.Kinds[0].Values, kind.Observation.Width()) {
				rows = append(rows, slices.Clone(row))
			}
		}
		must.Get(r.Episode(a, uint64(len(rows))))(t) // another dial for each
	}
	known := baselines()
	for _, flow := range []string{sizing.Sequential, sizing.Parallel, sizing.Branch, sizing.TcktApp} {
		for _, factor := range []float64{0.25, 1, 4} {
			for _, name := range []string{"fixed", "autoscaler"} {
				play(flow, factor, 20, func(e *sizing.Env) (rollout.Actor, error) { return known[name](e) })
			}
			play(flow, factor, 20, func(*sizing.Env) (rollout.Actor, error) {
				return rollout.Actor{Tuner: randomly{stream: rng.NewStream(1, flow)}}, nil
			})
		}
		if flow == sizing.Parallel && !testing.Short() {
			play(flow, 1, 3, func(e *sizing.Env) (rollout.Actor, error) { return known["oracle"](e) })
		}
	}
	for i, name := range kind.Features {
		var mean, square float64
		low, high := math.Inf(1), math.Inf(-1)
		for _, row := range rows {
			x := float64(row[i])
			mean += x / float64(len(rows))
			square += x * x / float64(len(rows))
			low, high = min(low, x), max(high, x)
		}
		sd := math.Sqrt(max(0, square-mean*mean))
		down, up := (low-mean)/sd, (high-mean)/sd
		t.Logf("%-16s mean %6.2f  sd %5.2f  from %6.2f to %5.2f, standardised from %5.1f to %4.1f", name, mean, sd, low, high,
			down, up)
		if !(low < high) {
			t.Errorf("%s is always %g", name, low)
		}
		if !(down > -10 && up < 10) {
			t.Errorf("%s is from %g to %g standardised", name, down, up)
		}
	}
}
