package pricing

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "every variant of every policy on ten seeds")

// variant is a policy under one reading of what the published comparison does not say.
type variant struct {
	policy, reading string
	change          func(*pricing.Config)
	scheduler       func(envs.Env) (envs.Policy, error) // nil for ARMS
	pba             bool
}

func variants() []variant {
	even := func(c *pricing.Config) { c.Baselines = []int{14, 14, 15} }
	tuned := func(c *pricing.Config) { c.Baselines = []int{8, 15, 20} }
	both := func(fs ...func(*pricing.Config)) func(*pricing.Config) {
		return func(c *pricing.Config) {
			for _, f := range fs {
				f(c)
			}
		}
	}
	noDeficit := func(c *pricing.Config) { c.ARMS.Gamma = 0 }
	donors := func(c *pricing.Config) { c.ARMS.Donors = pricing.EmptyDonors }
	patience := func(slots int) func(*pricing.Config) { return func(c *pricing.Config) { c.Patience = slots } }
	terms := func(name string) func(*pricing.Config) {
		return func(c *pricing.Config) { _ = Terms(name, c) } // the names below are in its table
	}
	has := func(e envs.Env) (envs.Policy, error) { return NewHAS(DefaultHAS(), e) }
	mqfq := func(choice string) func(envs.Env) (envs.Policy, error) {
		return func(e envs.Env) (envs.Policy, error) {
			c := DefaultMQFQ()
			c.Choice = choice
			return NewMQFQ(c, e)
		}
	}
	torpor := func(e envs.Env) (envs.Policy, error) { return NewTorpor(DefaultTorpor(), e) }
	load := func(x float64) func(*pricing.Config) { return func(c *pricing.Config) { c.Load = x } }
	all := []variant{
		{policy: "pba", reading: "default", pba: true, change: func(*pricing.Config) {}},
		{policy: "pba", reading: "D = 0", pba: true, change: noDeficit},
		{policy: "pba", reading: "donors without jobs", pba: true, change: donors},
		{policy: "pba", reading: "donors without jobs, D = 0, transient vGPUs go after 1 slot", pba: true,
			change: both(donors, noDeficit, patience(1))},
		{policy: "has-gpu", reading: "default", change: terms("has-gpu"), scheduler: has},
		{policy: "mqfq-sticky", reading: "default", change: terms("mqfq-sticky"), scheduler: mqfq(ChooseSticky)},
		{policy: "mqfq-sticky", reading: "the longest backlog", change: terms("mqfq-sticky"),
			scheduler: mqfq(ChooseLongest)},
		{policy: "torpor", reading: "default", change: terms("torpor"), scheduler: torpor},
		{policy: "torpor", reading: "a swap takes a slot", change: both(terms("torpor"), load(1)), scheduler: torpor},
	}
	for name, baselines := range map[string]func(*pricing.Config){"spss 14/14/15": even, "spss 8/15/20": tuned} {
		for _, r := range []struct {
			reading string
			change  func(*pricing.Config)
		}{
			{"default", func(*pricing.Config) {}},
			{"D = 0", noDeficit},
			{"donors without jobs", donors},
			{"donors without jobs, D = 0, transient vGPUs go after 1 slot", both(donors, noDeficit, patience(1))},
			{"transient vGPUs go after 1 slot", patience(1)},
			{"transient vGPUs go after 6 slots", patience(6)},
			{"keep-alive vGPUs load", func(c *pricing.Config) { c.Preload = false }},
			{"late jobs in the queue", func(c *pricing.Config) { c.ARMS.Late = true }},
			{"all switches charged", func(c *pricing.Config) { c.Costs.Switches = pricing.CountAll }},
			{"no bursts", func(c *pricing.Config) { c.Burst.Factor = 1 }},
		} {
			all = append(all, variant{policy: name, reading: r.reading, change: both(baselines, r.change)})
		}
	}
	slices.SortStableFunc(all, func(a, b variant) int { return slices.Compare([]byte(a.policy), []byte(b.policy)) })
	return all
}

// theirs are the counts of a comparison made by others with the same constants, on generated arrivals and ten seeds.
var theirs = []struct {
	policy                string
	charged, redeployment float64
}{{"pba", 97, 4563}, {"spss 14/14/15", 400, 3537}, {"spss 8/15/20", 206, 3853}}

// The readings that the claims name.
const (
	asWritten  = "default"
	emptyOnly  = "donors without jobs"
	nearTheirs = "donors without jobs, D = 0, transient vGPUs go after 1 slot"
)

// switchColumns are the quantities of a row, by the environment's names.
var switchColumns = []string{"profit", "violation_rate", "utilisation", "switches", "redeployments", "loads"}

// Both counts of switches, for every policy and every reading, on generated arrivals from seed 101 on: ten seeds with
// -long, one without.
func TestSwitchCounts(t *testing.T) {
	n := 1
	if *long {
		n = 10
	}
	rows := [][]string{append([]string{"policy", "reading"}, switchColumns...)}
	mean := map[[2]string]map[string]float64{}
	for _, v := range variants() {
		row, by := []string{v.policy, v.reading}, map[string]float64{}
		for i, x := range play(t, v, n) {
			by[switchColumns[i]] = x
			row = append(row, fmt.Sprintf("%.4g", x))
		}
		mean[[2]string{v.policy, v.reading}] = by
		rows = append(rows, row)
		t.Log(row)
	}
	claimSwitches(t, mean, n)
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	f := must.Get(os.Create(filepath.Join(dir, "switches.csv")))(t)
	must.Do(t, errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()))
}

// play returns a variant's quantities as means over n seeds.
func play(t *testing.T, v variant, n int) []float64 {
	t.Helper()
	c := pricing.Default()
	c.Demand.Source, c.Demand.Start = pricing.Generated, 0
	v.change(&c)
	var e *pricing.Pricing
	var err error
	if v.scheduler == nil {
		e, err = pricing.New(c, workload.Default(), nil)
	} else {
		e, err = pricing.Compose(c, workload.Default(), func(s *pricing.Slots) (envs.Policy,
			error) {
			return v.scheduler(s)
		})
	}
	must.Do(t, err)
	a := rollout.Actor{Policy: pricing.NewStatic(&c)}
	if v.pba {
		p := must.Get(NewPBA(spsa.Default(), e))(t)
		a = rollout.Actor{Planner: p}
	}
	mean := make([]float64, len(switchColumns))
	for i := range n {
		ep := must.Get(rollout.NewRunner(e).Episode(a, 101+uint64(i)))(t)
		for k, name := range switchColumns {
			at := must.Get(e.Spec().InfoIndex(name))(t)
			mean[k] += ep.Info[at] / float64(n)
		}
	}
	return mean
}

// claimSwitches claims the effect of the rule on donors on the counts and, with ten seeds, how far they are from
// others' counts.
func claimSwitches(t *testing.T, mean map[[2]string]map[string]float64, n int) {
	t.Helper()
	of := func(policy, reading, quantity string) float64 {
		by, ok := mean[[2]string{policy, reading}]
		if !ok {
			t.Fatalf("no variant is %s under %q", policy, reading)
		}
		return by[quantity]
	}
	fewer, worse, near, same := true, true, true, true
	var charged, late, all, beside []string
	for _, o := range theirs {
		a, b := of(o.policy, asWritten, "switches"), of(o.policy, emptyOnly, "switches")
		fewer = fewer && b < a/2
		charged = append(charged, fmt.Sprintf("%s %.0f and %.0f", o.policy, a, b))
		a, b = of(o.policy, asWritten, "violation_rate"), of(o.policy, emptyOnly, "violation_rate")
		worse = worse && b > a
		late = append(late, fmt.Sprintf("%s %.3f and %.3f", o.policy, a, b))
		a = of(o.policy, nearTheirs, "redeployments")
		near = near && math.Abs(a/o.redeployment-1) < 0.13
		all = append(all, fmt.Sprintf("%s %.0f of %.0f (%+.0f %%)", o.policy, a, o.redeployment,
			100*(a/o.redeployment-1)))
		a = of(o.policy, nearTheirs, "switches")
		same = same && math.Abs(a/o.charged-1) < 0.13
		beside = append(beside, fmt.Sprintf("%s %.0f of %.0f (%.1f times)", o.policy, a, o.charged, a/o.charged))
	}
	claim := func(text, bound string, measured []string, holds bool) {
		proof.Claim(t, proof.Row{
			Topic: "HOPS", Claim: fmt.Sprintf("%s, mean of %d seeds from 101 on", text, n), Bound: bound,
			Measured: strings.Join(measured, "; "), Holds: holds,
		})
	}
	claim("HOPS' world: charged switches, as Algorithm 2 is written and where only functions without jobs give vGPUs away",
		"under half, for PBA and both fixed baselines", charged, fewer)
	claim("HOPS' world: rate of violations, as Algorithm 2 is written and where only functions without jobs give vGPUs away",
		"higher in the second, for all three", late, worse)
	if n < 10 {
		return
	}
	claim("HOPS' world: all changes of function, where only functions without jobs give, D = 0 and release after 1 slot, against others' counts",
		"within 13 %, for all three", all, near)
	claim("HOPS' world: charged switches, where only functions without jobs give, D = 0 and release after 1 slot, against others' counts",
		"within 13 %, for all three", beside, same)
}
