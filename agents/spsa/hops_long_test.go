package spsa

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	hops "github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/proof"
)

// Windows of a search in the full simulator, and of a grid point's episode.
const (
	hopsWindows = 2000
	gridWindows = 72
)

// hopsWorld is HOPS' world with users that may stay away, the paper's scheduler inside and Azure's trace coming round.
func hopsWorld(t *testing.T, windows int) *hops.Pricing {
	t.Helper()
	c := hops.Default()
	c.Profile, c.Windows = hops.OutsideProfile, windows
	e, err := hops.New(c, workload.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// point is an action: prices, then baselines.
type point [6]float64

func (p point) String() string {
	return fmt.Sprintf("%.3f %.3f %.3f at %.0f %.0f %.0f", p[0], p[1], p[2], p[3], p[4], p[5])
}

// held is the profit of every window under one action.
func held(t *testing.T, e *hops.Pricing, p point, seed uint64) []float64 {
	t.Helper()
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	if err := e.Reset(seed, nil, obs); err != nil {
		t.Fatal(err)
	}
	for i, x := range p {
		act.Kinds[0][i] = float32(x)
	}
	var all []float64
	for out.Truncated = false; !out.Truncated; {
		if err := e.Step(act, obs, out); err != nil {
			t.Fatal(err)
		}
		all = append(all, out.Info[0])
	}
	return all
}

// grid looks for the best action by blocks, prices and baselines in turn, coarse and then fine, each point on the same seeds. Seeds are others than those on
// which the pricer is held against what is found.
type grid struct {
	t    *testing.T
	env  *hops.Pricing
	best point
	rows [][]string
}

// try evaluates all points that differ from the best one by offsets in one block, and moves to the best of them.
func (g *grid) try(round string, first int, offsets []float64, seeds uint64) {
	from, most := g.best, math.Inf(-1)
	for _, a := range offsets {
		for _, b := range offsets {
			for _, c := range offsets {
				p := from
				p[first], p[first+1], p[first+2] = p[first]+a, p[first+1]+b, p[first+2]+c
				if min(p[0], p[1], p[2], p[3], p[4], p[5]) < 0 || p[3]+p[4]+p[5] > 64 {
					continue
				}
				sum := 0.0
				for seed := range seeds {
					sum += stat.Mean(held(g.t, g.env, p, 1001+seed), nil) / float64(seeds)
				}
				row := []string{round}
				for _, x := range append(p[:], sum) {
					row = append(row, strconv.FormatFloat(x, 'g', 8, 64))
				}
				g.rows = append(g.rows, row)
				if sum > most {
					most, g.best = sum, p
				}
			}
		}
	}
	g.t.Logf("%s: %v, profit %.1f a window", round, g.best, most)
}

// Against the best of a grid of actions in the full simulator: the pricer's profit over the last fifth of its windows, on the same windows of the same seeds.
func TestHOPSGrid(t *testing.T) {
	if !*long {
		t.Skip("a search over a grid takes minutes: -long")
	}
	g := &grid{t: t, env: hopsWorld(t, gridWindows), best: point{1.4, 1.4, 1.4, 8, 15, 20}}
	g.try("prices by 0.2", 0, []float64{-0.5, -0.3, -0.1, 0.1, 0.3, 0.5}, 3)
	n := g.best
	n[3], n[4], n[5] = 0, 0, 0
	g.best = n
	g.try("baselines by 5", 3, []float64{0, 5, 10, 15, 20, 25}, 3)
	fine := []float64{-2, -1, 0, 1, 2}
	scaled := func(by float64) (x []float64) {
		for _, f := range fine {
			x = append(x, float64(f*by))
		}
		return x
	}
	g.try("prices by 0.05", 0, scaled(0.05), 6)
	g.try("baselines by 2", 3, scaled(2), 6)
	g.try("prices by 0.025", 0, scaled(0.025), 6)
	g.try("baselines by 1", 3, fine, 6)
	g.write("grid.csv")

	c := Default()
	c.Objective, c.Prices.Step, c.Prices.Unit = "profit", 1, 104*60*5.7
	spare, world := hopsWorld(t, hopsWindows), hopsWorld(t, hopsWindows)
	planner, err := NewPlanner(c, spare)
	if err != nil {
		t.Fatal(err)
	}
	stages := [][2]int{{32, 40}, {160, 200}, {400, 500}, {hopsWindows - hopsWindows/5, hopsWindows}}
	differences, levels := make([][]float64, len(stages)), make([][]float64, len(stages))
	ends := make([][]float64, 6)
	var runs []path
	found := &grid{t: t}
	for seed := uint64(1); seed <= max(*seeds, 20); seed++ {
		var run path
		var profit []float64
		end := make([]float64, 6)
		r := rollout.NewRunner(world)
		r.OnStep = func(s rollout.Step) {
			a := s.Action.Kinds[0]
			run = append(run, [3]float64{float64(a[0]), float64(a[1]), float64(a[2])})
			profit = append(profit, s.Info[0])
			if len(profit) > stages[3][0] {
				for i := range end {
					end[i] += float64(a[i]) / float64(hopsWindows/5)
				}
			}
		}
		if _, err := r.Episode(rollout.Actor{Planner: planner}, seed); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
		best := held(t, world, g.best, seed)
		row := []string{strconv.FormatUint(seed, 10)}
		for i, s := range stages {
			ours, theirs := stat.Mean(profit[s[0]:s[1]], nil), stat.Mean(best[s[0]:s[1]], nil)
			differences[i], levels[i] = append(differences[i], ours-theirs), append(levels[i], theirs)
			row = append(row, strconv.FormatFloat(ours, 'g', 8, 64), strconv.FormatFloat(theirs, 'g', 8, 64))
		}
		for i, x := range end {
			ends[i] = append(ends[i], x)
			row = append(row, strconv.FormatFloat(x, 'g', 6, 64))
		}
		found.rows = append(found.rows, row)
	}
	found.write("seeds.csv")
	drawPaths(t, "hops", fmt.Sprintf("PBA in the full simulator: %d seeds", len(runs)), [3]float64(g.best[:3]), runs)
	t.Logf("the grid's best: %v; the pricer's mean over the last fifth: %.3f %.3f %.3f at %.1f %.1f %.1f", g.best,
		stat.Mean(ends[0], nil), stat.Mean(ends[1], nil), stat.Mean(ends[2], nil), stat.Mean(ends[3], nil), stat.Mean(ends[4], nil), stat.Mean(ends[5], nil))
	told := ""
	for i, s := range stages {
		d, half := interval(differences[i])
		level, levelHalf := interval(levels[i])
		text := fmt.Sprintf("windows %d to %d: %+.1f ± %.1f of %.1f ± %.1f a window (%+.2f %%, %+.2f to %+.2f)", s[0]+1, s[1], d, half, level, levelHalf,
			100*d/level, 100*(d-half)/level, 100*(d+half)/level)
		if t.Log(text); i < len(stages)-1 {
			continue
		}
		told = text
		proof.Claim(t, proof.Row{
			Topic: "agents", Claim: fmt.Sprintf("PBA in HOPS' full simulator with the outside option against the best of a grid (prices by 0.025, baselines by 1: %v), profit on the same windows, 95 %% over %d seeds", g.best, len(runs)),
			Bound: "the interval's lower end at most 2 % below", Measured: told, Holds: d-half > -0.02*level,
		})
	}
}

// interval is a mean and half its 95 % interval (Student's).
func interval(x []float64) (mean, half float64) {
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
}

// write keeps the rows where proofs are kept.
func (g *grid) write(name string) {
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll(g.rows); err != nil {
		g.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		g.t.Fatal(err)
	}
}
