package spsa

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	hops "github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Windows of a search in the full simulator, and of a grid point's episode.
const (
	hopsWindows = 2000
	gridWindows = 72
)

// hopsWorld is HOPS' environment with users that may stay away, the paper's scheduler inside and Azure's trace
// repeated.
func hopsWorld(t *testing.T, windows int) *hops.Pricing {
	t.Helper()
	c := hops.Default()
	c.Profile, c.Windows = hops.OutsideProfile, windows
	e := must.Get(hops.New(c, workload.Default(), nil))(t)
	return e
}

// point is an action: prices, then baselines.
type point [6]float64

func (p point) String() string {
	return fmt.Sprintf("%.3f %.3f %.3f at %.0f %.0f %.0f", p[0], p[1], p[2], p[3], p[4], p[5])
}

// held is the profit of every window under one constant action.
func held(t *testing.T, e *hops.Pricing, p point, seed uint64) []float64 {
	t.Helper()
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	must.Do(t, e.Reset(seed, nil, obs))
	for i, x := range p {
		act.Kinds[0][i] = float32(x)
	}
	var all []float64
	for out.Truncated = false; !out.Truncated; {
		must.Do(t, e.Step(act, obs, out))
		all = append(all, out.Info[0])
	}
	return all
}

// grid searches the best action block by block, prices and baselines in turn, on a coarse and then a fine grid, every
// point on the same seeds. The pricer is compared with the result on other seeds.
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

// found is the best action of an earlier grid search; with it the search is skipped.
var found = flag.String("best", "", "with -long, skip HOPS' grid and take its best action from here: six numbers with commas")

// gridBest is the grid's best action.
func gridBest(t *testing.T) point {
	g := &grid{t: t, env: hopsWorld(t, gridWindows), best: point{1.4, 1.4, 1.4, 8, 15, 20}}
	if *found != "" {
		if n, err := fmt.Sscanf(*found, "%g,%g,%g,%g,%g,%g", &g.best[0], &g.best[1], &g.best[2], &g.best[3], &g.best[4],
			&g.best[5]); n != 6 {
			t.Fatalf("-best is %q, want six numbers with commas: %v", *found, err)
		}
		return g.best
	}
	g.try("prices by 0.2", 0, []float64{-0.5, -0.3, -0.1, 0.1, 0.3, 0.5}, 3)
	g.best[3], g.best[4], g.best[5] = 0, 0, 0
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
	return g.best
}

// stages are the windows at which the pricer is compared: the end of the paper's experiment, and the last fifths of
// longer ones.
var stages = [][2]int{{32, 40}, {160, 200}, {400, 500}, {hopsWindows - hopsWindows/5, hopsWindows}}

// Compares the pricer's profit over the last fifth of its windows with that of the best action of a grid, in the full
// simulator, on the same windows of the same seeds.
func TestHOPSGrid(t *testing.T) {
	if !*long {
		t.Skip("a search over a grid takes minutes: -long")
	}
	best := gridBest(t)
	world := hopsWorld(t, hopsWindows)
	bests := make([][]float64, max(*seeds, 20))
	for i := range bests {
		bests[i] = held(t, world, best, uint64(i)+1)
	}
	for _, m := range []struct {
		name, file string
		most       float64
	}{{"steps as for the demand alone", "hops", 0}, {"a price moves by at most 0.1 a window", "hops-bounded", 0.1}} {
		c := Default()
		c.Objective, c.Prices.Step, c.Prices.Unit, c.Prices.Most = "profit", 1, 104*60*5.7, m.most
		priceHOPS(t, c, world, best, bests, m.name, m.file)
	}
}

// priceHOPS runs the pricer on every seed and compares it with the best action's profits.
func priceHOPS(t *testing.T, c Config, world *hops.Pricing, best point, bests [][]float64, name, file string) {
	t.Helper()
	planner := must.Get(NewPlanner(c, hopsWorld(t, hopsWindows)))(t)
	differences, levels := make([][]float64, len(stages)), make([][]float64, len(stages))
	out := &grid{t: t}
	var runs []path
	below := 0
	for i, theirs := range bests {
		var run path
		var profit []float64
		end := make([]float64, 6)
		r := rollout.NewRunner(world)
		r.OnStep = func(s rollout.Step) {
			a := s.Action.Kinds[0]
			run = append(run, [3]float64{float64(a[0]), float64(a[1]), float64(a[2])})
			profit = append(profit, s.Info[0])
			if len(profit) > hopsWindows-hopsWindows/5 {
				for i := range end {
					end[i] += float64(a[i]) / float64(hopsWindows/5)
				}
			}
		}
		must.Get(r.Episode(rollout.Actor{Planner: planner}, uint64(i)+1))(t)
		runs = append(runs, run)
		row := []string{strconv.Itoa(i + 1)}
		for j, s := range stages {
			mine, other := stat.Mean(profit[s[0]:s[1]], nil), stat.Mean(theirs[s[0]:s[1]], nil)
			differences[j], levels[j] = append(differences[j], mine-other), append(levels[j], other)
			row = append(row, strconv.FormatFloat(mine, 'g', 8, 64), strconv.FormatFloat(other, 'g', 8, 64))
			if j == len(stages)-1 && mine < 0.98*other {
				below++
			}
		}
		for _, x := range end {
			row = append(row, strconv.FormatFloat(x, 'g', 6, 64))
		}
		out.rows = append(out.rows, row)
	}
	out.write(file + "-seeds.csv")
	drawPaths(t, file, fmt.Sprintf("PBA in the full simulator, %s: %d seeds", name, len(runs)), [3]float64(best[:3]),
		runs)
	told, holds := "", false
	for j, s := range stages {
		d, half := interval(differences[j])
		level, levelHalf := interval(levels[j])
		told = fmt.Sprintf("windows %d to %d: %+.1f ± %.1f of %.1f ± %.1f a window (%+.2f %%, %+.2f to %+.2f)", s[0]+1,
			s[1], d, half, level, levelHalf,
			100*d/level, 100*(d-half)/level, 100*(d+half)/level)
		t.Log(name + ", " + told)
		holds = d-half > -0.02*level
	}
	last := slices.Clone(differences[len(stages)-1])
	slices.Sort(last)
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: fmt.Sprintf("PBA in HOPS' full simulator with the outside option, %s, against the best of a grid (prices by 0.025, baselines by 1: %v): profit on the same windows, 95 %% over %d seeds",
			name, best, len(runs)),
		Bound: "the interval's lower end at most 2 % below",
		Measured: fmt.Sprintf("%s; median %+.1f, worst seed %+.1f, %d seeds more than 2 %% below", told, quantile(last,
			0.5), last[0], below), Holds: holds,
	})
}

// interval is a mean and half its 95 % interval (Student's).
func interval(x []float64) (mean, half float64) {
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
}

// write writes the rows to the folder for proofs.
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
