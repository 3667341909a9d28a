package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// recorded is testdata/rliable.json, which testdata/record_rliable.py makes with rliable itself.
type recorded struct {
	Rliable string
	Cases   []struct {
		Name              string
		X, Y              Scores
		Mean, IQM         float64
		Improvement       float64
		ImprovementBounds [][2]float64 `json:"improvement_intervals"`
		IQMBounds         [][2]float64 `json:"iqm_intervals"`
		Resamples         []struct {
			Rows [][]int
			IQM  float64
		}
		Profile struct{ Tau, Share, Lo, Hi []float64 }
	}
}

// Points, and the IQM of resamples with the indices that rliable drew, are rliable's to rounding. Intervals come of
// other draws: they agree to the Monte Carlo error that rliable shows against itself under another seed, or five
// times the standard error of a quantile of as many draws. On one task rliable's stratified bootstrap is ours, of one
// workload with the runs as training seeds; on several it draws the runs of each task by themselves, which is written
// out here.
func TestRliable(t *testing.T) {
	b := must.Get(os.ReadFile("testdata/rliable.json"))(t)
	var r recorded
	must.Do(t, json.Unmarshal(b, &r))
	resamples := size(5000, 50_000)
	points, bounds, worst, steps, n := 0.0, 0, 0.0, 0.0, 0
	point := func(what string, got, want float64) {
		points = max(points, math.Abs(got-want)/max(1, math.Abs(want)))
		near(t, what, got, want, 1e-12*max(1, math.Abs(want)))
		n++
	}
	// distance in units of what chance allows.
	bound := func(what string, got, want Interval, allowed float64) {
		for _, d := range []float64{got.Low - want.Low, got.High - want.High} {
			worst = max(worst, math.Abs(d)/allowed)
			bounds++
			if math.Abs(d) > allowed {
				t.Errorf("%s: [%g, %g], rliable's is [%g, %g], further than %g", what, got.Low, got.High, want.Low, want.High, allowed)
			}
		}
	}
	for k, c := range r.Cases {
		point(c.Name+": mean", Mean(c.X.Flat()), c.Mean)
		point(c.Name+": IQM", IQM(c.X.Flat()), c.IQM)
		point(c.Name+": probability of improvement", pairedImprovement(c.X, c.Y), c.Improvement)
		for i, share := range Profile(c.X.Flat(), c.Profile.Tau) {
			point(fmt.Sprintf("%s: profile at %g", c.Name, c.Profile.Tau[i]), share, c.Profile.Share[i])
		}
		for i, s := range c.Resamples {
			point(fmt.Sprintf("%s: resample %d", c.Name, i), IQM(gather(c.X, s.Rows).Flat()), s.IQM)
		}
		draws := stratified(c.X, resamples, rng.New(uint64(k), "stratified").Stream())
		got := percentiles(c.IQM, draws)
		allowed := 5 * quantileError(draws, tail)
		bound(c.Name+": IQM", got, interval(c.IQMBounds[0]), allowed)
		if len(c.X[0]) > 1 {
			continue // what follows draws as we do
		}
		bound(c.Name+": IQM as eval has it", PercentileInterval(c.X, resamples, rng.New(uint64(k), "ours").Stream()), interval(c.IQMBounds[0]), allowed)
		improved := improvementDraws(c.X, c.Y, min(resamples, 5000), rng.New(uint64(k), "improved").Stream())
		bound(c.Name+": improvement", percentiles(c.Improvement, improved), interval(c.ImprovementBounds[0]), 7*quantileError(improved, tail))
		for i, iv := range ProfileInterval(c.X, c.Profile.Tau, resamples, rng.New(uint64(k), "profile").Stream()) {
			// A share of n runs comes in steps of 1/n, and 2,000 draws may end a step apart.
			off := max(math.Abs(iv.Low-c.Profile.Lo[i]), math.Abs(iv.High-c.Profile.Hi[i])) * float64(len(c.X))
			if steps = max(steps, off); off > 1+1e-9 {
				t.Errorf("%s: profile at %g is [%g, %g], rliable's [%g, %g]", c.Name, c.Profile.Tau[i], iv.Low, iv.High, c.Profile.Lo[i], c.Profile.Hi[i])
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: fmt.Sprintf("rliable %s on five score matrices: means, IQMs, profiles, probabilities of improvement, and the IQM of 125 resamples with its indices", r.Rliable),
		Bound: "1e-12 relative", Measured: fmt.Sprintf("%d figures, largest difference %.1e", n, points), Holds: points <= 1e-12,
	})
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "its 95 % intervals, with draws of our own generator",
		Bound:    "within five Monte Carlo errors of a bound (seven where rliable drew 5,000 times); profiles within a step of 1/n",
		Measured: fmt.Sprintf("%d bounds, the furthest at %.2f of what is allowed; profiles %.2g steps", bounds, worst, steps), Holds: worst <= 1 && steps <= 1+1e-9,
	})
}

func interval(b [2]float64) Interval { return Interval{Low: b[0], High: b[1]} }

// gather returns, for each cell, the score at the row drawn for it, in the same column.
func gather(x Scores, rows [][]int) Scores {
	out := make(Scores, len(rows))
	for i, r := range rows {
		out[i] = make([]float64, len(r))
		for j, k := range r {
			out[i][j] = x[k][j]
		}
	}
	return out
}

// stratified are IQMs of resamples in which runs are drawn for each task separately, as in rliable.
func stratified(x Scores, resamples int, s *rng.Stream) []float64 {
	rows := make([][]int, len(x))
	for i := range rows {
		rows[i] = make([]int, len(x[0]))
	}
	draws := make([]float64, resamples)
	for r := range draws {
		for _, row := range rows {
			for j := range row {
				row[j] = s.IntN(len(x))
			}
		}
		draws[r] = IQM(gather(x, rows).Flat())
	}
	return draws
}

// quantileError is about the standard error of the quantiles q and 1 − q of draws: the share's own, √(q(1−q)/n), over
// the density there, taken over two percent of the draws. Draws that take few values cannot be nearer than those
// stand apart.
func quantileError(draws []float64, q float64) float64 {
	sorted := sortedOf(draws)
	share := math.Sqrt(q * (1 - q) / float64(len(sorted)))
	worst := 0.0
	for _, at := range []float64{q, 1 - q} {
		lo, hi := Quantile(sorted, at-0.01), Quantile(sorted, at+0.01)
		worst = max(worst, (hi-lo)/0.02*share)
	}
	return max(worst, 1e-9)
}
