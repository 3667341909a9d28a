package spsa

import (
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// market is HOPS without vGPUs: users choose among three tiers and staying away (eq. 1 with an outside option),
// capacity is unlimited, and a billing unit of each tier has a cost. The constants are those from which HOPS's
// published prices follow.
type market struct {
	clock
	o marketOptions
	// edges are the tiers' cumulative shares while a window is drawn.
	edges [3]float64
}

type marketOptions struct {
	demand [3]float64 // g_m, billing units of a job
	// users draws every potential job's choice; without it the profit is the expected one, as the paper's revenue is.
	users bool
	// steady keeps the potential load at its mean.
	steady bool
	// jobs is the mean number of potential jobs in a window.
	jobs   float64
	length int
}

const (
	marketAlpha, marketBeta, marketOutside = -0.2820, 1.676, -1.983
	// marketJobs is Λ·H, 104 potential jobs in each of 60 slots; marketUnit the slope that counts as one, Λ·H·U.
	marketJobs = 104 * 60.0
	marketUnit = marketJobs * 5.7
)

var (
	marketSLA  = [3]float64{7, 4, 2}
	marketCost = [3]float64{0.05, 0.25, 0.45}
	// recommended is the profile's own g_m.
	recommended = [3]float64{5.70, 6.41, 6.78}
)

// marketShares is eq. 1 with the outside option.
func marketShares(p [3]float64) (q [3]float64) {
	sum := portable.Exp(marketOutside)
	for m := range q {
		q[m] = portable.Exp(float64(marketAlpha*marketSLA[m]) - float64(marketBeta*p[m]))
		sum += q[m]
	}
	for m := range q {
		q[m] /= sum
	}
	return q
}

// marketProfit is the expected profit of one potential job, Σ q_m g_m (p_m − c_m).
func marketProfit(p, demand [3]float64) (sum float64) {
	for m, q := range marketShares(p) {
		sum += float64(float64(q*demand[m]) * (p[m] - marketCost[m]))
	}
	return sum
}

func newMarket(o marketOptions) *market {
	return &market{o: o, clock: clock{over: true, spec: envs.Spec{
		ID: "test/Market-v1", Doc: "A provider prices three tiers of unlimited capacity.", MaxSteps: o.length,
		Step: envs.Timing{Unit: "window", Fixed: 3600e6},
		Kinds: []envs.Kind{{
			Name: "provider", Agents: 1, Observation: envs.NewBox(1, 0, 1), Action: envs.NewBox(3, 0, 5),
			Actions: []string{"price 1", "price 2", "price 3"},
		}},
		Info: []envs.Quantity{
			{Name: "profit", Unit: "money", Better: envs.Higher, Reduce: envs.Sum},
			{Name: "potential", Unit: "jobs", Reduce: envs.Sum},
		},
	}}}
}

// potential is Λ_t·H, the potential jobs of a window: a day's wave with noise.
func (k *market) potential() float64 {
	if k.o.steady {
		return k.o.jobs
	}
	wave := portable.Sin(float64(2*math.Pi*float64(k.window%24))/24 - 1.5)
	noise := rng.New(k.seed, "potential").With(uint64(k.window)).Norm()
	return k.o.jobs * max(0.3, 1+float64(0.55*wave)+float64(0.3*noise))
}

func (k *market) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := k.check(act); err != nil {
		return err
	}
	var p [3]float64
	for m := range p {
		p[m] = float64(act.Kinds[0][m])
	}
	jobs, profit := k.potential(), 0.0
	if k.o.users {
		profit = k.draw(p, int(jobs))
	} else {
		profit = float64(jobs * marketProfit(p, k.o.demand))
	}
	k.tick(profit, obs, out)
	out.Info[0], out.Info[1] = profit, jobs
	return nil
}

// draw draws every user's choice: user i has one random number, the same at all prices, and prices move the limits
// between the tiers.
func (k *market) draw(p [3]float64, users int) (profit float64) {
	edge, q := 0.0, marketShares(p)
	for m := range q {
		edge += q[m]
		k.edges[m] = edge
	}
	key := rng.New(k.seed, "choice").With(uint64(k.window))
	var n [3]int
	for i := range users {
		u := key.With(uint64(i)).Float64()
		switch {
		case u < k.edges[0]:
			n[0]++
		case u < k.edges[1]:
			n[1]++
		case u < k.edges[2]:
			n[2]++
		}
	}
	for m := range n {
		profit += float64(float64(float64(n[m])*k.o.demand[m]) * (p[m] - marketCost[m]))
	}
	return profit
}
