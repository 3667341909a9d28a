package bench

import (
	"math"
	"testing"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/baselines/variants/published"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

// What is measured is what the peer does: SLApp's Python (pacslab/SLApp-PerfCost-MdlOpt, 4173c98) on the same graphs and
// profiles gives these response times in milliseconds and costs.
func TestPlansArePeers(t *testing.T) {
	for number, want := range map[int]variants.Outcome{
		4: {Seconds: 2.103577960962261, USD: 76.9488888888889}, 6: {Seconds: 3.40477524052299, USD: 106.75382857142854},
	} {
		m := must.Get(slapp(number))(t)
		o := rules.Published()
		o.Strategy, o.Threshold = rules.Disabled, published.Threshold
		got, err := rules.NewPlanner(m).Solve(middle(m), o)
		if err != nil || math.Abs(got.Seconds/want.Seconds-1) > 1e-9 || math.Abs(got.USD/want.USD-1) > 1e-9 {
			t.Errorf("App%d: %+v (%v), want %+v", number, got, err, want)
		}
	}
}

// The worst case's response time is the expectation of a walk: the solution of its linear system by numpy. SLApp removes
// one cycle after the other, which is not the expectation where cycles overlap.
func TestWorstGraph(t *testing.T) {
	for n, want := range map[int]float64{3: 1.536713286713287, 6: 49.734742752868854} {
		w := must.Get(worstGraph(n).Compile())(t)
		times := make([]float64, n)
		for i := range times {
			times[i] = 0.1
		}
		if got := w.Response(times, workflow.Delays{}); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("the worst case of %d nodes takes %.12g s, want %.12g", n, got, want)
		}
	}
}
