package spsa

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// market is HOPS without vGPUs: users choose among three tiers and staying away (eq. 1 with an outside option), capacity is unlimited, and
// a billing unit of each tier has a cost. Constants are those of BASELINES, section 1.8: what the published prices follow from.
type market struct {
	o      marketOptions
	spec   envs.Spec
	seed   uint64
	window int
	over   bool
	// edges are the tiers' cumulated shares while a window is drawn.
	edges [3]float64
}

type marketOptions struct {
	demand [3]float64 // g_m, billing units of a job
	// users draws every potential job's choice; otherwise the profit is the expected one, as the paper's revenue is.
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
	return &market{o: o, over: true, spec: envs.Spec{
		ID: "test/Market-v1", Doc: "A provider prices three tiers of unlimited capacity.", MaxSteps: o.length,
		Step: envs.Timing{Unit: "window", Fixed: 3600e6},
		Kinds: []envs.Kind{{
			Name: "provider", Agents: 1, Observation: envs.NewBox(1, 0, 1), Action: envs.NewBox(3, 0, 5),
			Actions: []string{"price 1", "price 2", "price 3"},
		}},
		Info: []envs.Quantity{
			{Name: "profit", Unit: "money", Better: envs.Higher, Reduce: envs.Sum}, {Name: "potential", Unit: "jobs", Reduce: envs.Sum},
		},
	}}
}

func (k *market) Spec() *envs.Spec { return &k.spec }

func (k *market) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 {
		return errors.New("test/Market-v1: it has no options")
	}
	k.seed, k.window, k.over = seed, 0, false
	k.see(obs)
	return nil
}

func (k *market) see(obs *envs.Observation) {
	obs.Kinds[0].Values[0], obs.Kinds[0].Active[0] = float32(k.window)/float32(k.o.length), true
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
	if k.over {
		return errors.New("test/Market-v1: step outside an episode")
	}
	if err := envs.CheckAction(&k.spec, nil, act); err != nil {
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
	k.window++
	k.over = k.window >= k.o.length
	out.Rewards[0][0] = float32(profit)
	out.Info[0], out.Info[1] = profit, jobs
	out.Terminated, out.Truncated, out.Elapsed = false, k.over, k.spec.Step.Fixed
	k.see(obs)
	return nil
}

// draw lets every user choose: user i has one number, the same whatever the prices are, and prices move the edges between the tiers.
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

func (k *market) CopyFrom(src envs.Env) error {
	s, ok := src.(*market)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", k.spec.ID, src)
	}
	k.seed, k.window, k.over = s.seed, s.window, s.over
	return nil
}

func (k *market) AppendBinary(b []byte) ([]byte, error) {
	over := uint64(0)
	if k.over {
		over = 1
	}
	for _, x := range []uint64{k.seed, uint64(k.window), over} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b, nil
}

func (k *market) UnmarshalBinary(b []byte) error {
	if len(b) != 24 || binary.LittleEndian.Uint64(b[8:]) > uint64(k.o.length) || binary.LittleEndian.Uint64(b[16:]) > 1 {
		return fmt.Errorf("%s: saved state %x is not one", k.spec.ID, b)
	}
	k.seed, k.window, k.over = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:])), b[16] == 1
	return nil
}
