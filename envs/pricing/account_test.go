package pricing

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// hand is a world small enough to be worked out by hand: three vGPUs, a window of four slots, two tiers with a function
// each. Nothing arrives by itself; tests put jobs in.
type hand struct {
	*Slots
	t   *testing.T
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func newHand(t *testing.T, change func(*Config)) *hand {
	t.Helper()
	c := Default()
	c.VGPUs, c.Slots, c.Windows = 3, 4, 2
	c.Tiers = []Tier{
		{SLA: 2, Functions: 1, Service: 1, Demand: 3, Penalty: 5, Rate: 8},
		{SLA: 1, Functions: 1, Service: 1, Demand: 4, Penalty: 7, Rate: 12},
	}
	c.Prices, c.Baselines = []float64{1.5, 0.5}, []int{1, 0}
	c.Demand.Source, c.Demand.Mean, c.Burst.Start = Generated, 1e-9, 0
	c.Costs.Fixed = 12
	if change != nil {
		change(&c)
	}
	e := must.Get(NewSlots(c, workload.Default(), nil))(t)
	h := &hand{e, t, envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)}
	must.Do(t, e.Reset(1, nil, h.obs))
	e.rates[0], e.rates[1] = 2, 1
	return h
}

// arrive puts n jobs of function f into the present slot.
func (h *hand) arrive(f int, n int32) {
	h.slotAcc[accArrived] += float64(n)
	h.slotAcc[h.perTier(tierArrived, h.fn[f].tier)] += float64(n)
	h.admit(f, n)
}

// do ends the slot with an action given as function, what, number.
func (h *hand) do(orders ...[3]int) {
	h.t.Helper()
	clear(h.act.Kinds[0])
	for _, o := range orders {
		h.act.Kinds[0][o[0]*Acts+o[1]] = float32(o[2])
	}
	if err := h.Step(h.act, h.obs, h.out); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hand) info(name string) float64 {
	h.t.Helper()
	i, err := h.spec.InfoIndex(name)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.out.Info[i]
}

// The accounts of eqs. 2, 3 and 5 in four slots, worked out by hand. A slot's revenue is 1.5·2·3 + 0.5·1·4 = 11 and a
// keep-alive vGPU of tier 1 costs 8/4 = 2. In the first slot two jobs of function 0 and one of function 1 arrive. The
// keep-alive vGPU runs one of them, a transient one loads function 1 (1). In the second the job of function 1 is too
// late (7) and runs all the same, as does the other of function 0. In the third a second transient vGPU loads function
// 0; in the fourth the first one goes from function 1 to 0.
func TestAccounts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		profit [4]float64
		switched, redeployed,
		served float64
	}{
		"as the text has it": {nil, [4]float64{8, 1, 7, 7}, 0, 1, 3},
		"every deployed vGPU charged": {func(c *Config) { c.Costs.Deployed = CountAll },
			[4]float64{7, 0, 6, 6}, 0, 1, 3},
		"every switch charged": {func(c *Config) { c.Costs.Switches = CountAll }, [4]float64{8, 1, 7, 5}, 1, 1, 3},
		"revenue of arrivals":  {func(c *Config) { c.Costs.Revenue = ArrivedRevenue }, [4]float64{8, -10, -4, -4}, 0, 1, 3},
		"revenue of service":   {func(c *Config) { c.Costs.Revenue = ServedRevenue }, [4]float64{1.5, -3.5, -4, -4}, 0, 1, 3},
		// No keep-alive vGPU: both jobs of function 0 are too late in the third slot (10), and all three vGPUs cost 3·12/4 =
		// 9. The vGPU that comes last had hosted nothing.
		"fixed pool": {func(c *Config) { c.Pool = Fixed }, [4]float64{2, -5, -8, 2}, 0, 0, 2},
		"elastic pool": {func(c *Config) { c.Pool = Elastic; c.VGPUs = 2; c.Baselines[0] = 0 },
			[4]float64{10, 3, -1, 7}, 1, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHand(t, c.change)
			h.arrive(0, 2)
			h.arrive(1, 1)
			var switched, redeployed, served float64
			for i, orders := range [][][3]int{{{1, ActCold, 1}}, nil, {{0, ActCold, 1}}, {{1, ActRelease, 1}, {0, ActCold, 1}}} {
				h.do(orders...)
				if got := h.info("profit"); math.Abs(got-c.profit[i]) > 1e-12 {
					t.Errorf("slot %d: profit is %g, want %g", i, got, c.profit[i])
				}
				if want := -(h.info("gpu") + h.info("switch") + h.info("sla")); h.out.Rewards[0][0] != float32(want) {
					t.Errorf("slot %d: the reward is %g, want eq. 5's %g", i, h.out.Rewards[0][0], want)
				}
				switched, redeployed, served = switched+h.info("switches"), redeployed+h.info("redeployments"),
					served+h.info("served")
			}
			if switched != c.switched || redeployed != c.redeployed || served != c.served {
				t.Errorf("%g charged switches, %g redeployments, %g served; want %g, %g, %g", switched, redeployed, served,
					c.switched, c.redeployed, c.served)
			}
		})
	}
}

// A keep-alive vGPU that changes its function is charged once (eq. 8 by its text), loads for a slot, and its tier keeps
// as many (eq. 10).
func TestKeepAliveSwitch(t *testing.T) {
	h := newHand(t, func(c *Config) { c.Tiers[0].Functions, c.Zipf, c.Baselines[0] = 2, 0, 2 })
	if h.keep[0] != 1 || h.keep[1] != 1 {
		t.Fatalf("two keep-alive vGPUs of two equal functions stand at %v", h.keep)
	}
	h.arrive(1, 2)
	h.do([3]int{0, ActGive, 3}, [3]int{1, ActTake, 1}, [3]int{2, ActTake, 1})
	if h.info("switches") != 1 || h.info("switch") != 2 || h.info("loads") != 1 || h.keep[0] != 0 || h.keep[1] != 2 ||
		h.tierKeep[0] != 2 {
		t.Errorf("after one handed on: %g switches for %g, %g loads, keep-alive %v", h.info("switches"), h.info("switch"),
			h.info("loads"), h.keep)
	}
	h.do([3]int{1, ActGive, 2}, [3]int{2, ActTake, 2}) // function 2 is of the other tier
	if h.info("switches") != 0 || h.info("served") != 1 {
		t.Errorf("a keep-alive vGPU left its tier: %g switches, %g served", h.info("switches"), h.info("served"))
	}
}

// Lateness is counted once, at the first slot in which the job cannot be done by its arrival plus its SLA any more; a
// job dropped has waited longer than three SLAs.
func TestLateness(t *testing.T) {
	h := newHand(t, func(c *Config) {
		c.Windows, c.Tiers[0].SLA, c.Tiers[0].Lengths, c.Baselines = 9, 3, []float64{0, 1}, []int{0, 0}
	})
	h.arrive(0, 1) // of two slots: it can begin in slots 0 and 1
	late, dropped := -1, -1
	for slot := range 20 {
		h.do()
		if h.info("violated") > 0 {
			if late >= 0 {
				t.Error("violated twice")
			}
			late = slot
		}
		if h.info("dropped") > 0 {
			dropped = slot
		}
	}
	if late != 2 || dropped != 10 {
		t.Errorf("late in slot %d and dropped in %d, want 2 and 10 (more than 9 slots waited)", late, dropped)
	}
}

// A transient vGPU that is warm serves at once; baselines that fall leave transient vGPUs, and rising ones take them
// up.
func TestRoles(t *testing.T) {
	h := newHand(t, nil)
	h.do([3]int{1, ActCold, 1})
	h.do() // loaded now
	h.do([3]int{1, ActRelease, 1})
	h.arrive(1, 1)
	h.do([3]int{1, ActWarm, 1})
	if h.info("served") != 1 || h.info("loads") != 0 || h.info("redeployments") != 0 {
		t.Errorf("a warm activation served %g jobs with %g loads", h.info("served"), h.info("loads"))
	}
	h.setWindow([]float32{1.5, 0.5, 0, 1})
	h.beginWindow()
	if h.keep[0] != 0 || h.trans[0] != 1 || h.keep[1] != 1 || h.trans[1] != 0 || h.short != 0 {
		t.Errorf("after baselines 0 and 1: keep-alive %v, transient %v", h.keep, h.trans)
	}
	h.setWindow([]float32{1.5, 0.5, 3, 3})
	if h.baseline[0]+h.baseline[1] != 3 {
		t.Errorf("baselines 3 and 3 of three vGPUs are projected to %v", h.baseline)
	}
}
