package pricing

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/proof"
)

var long = flag.Bool("long", false, "every variant of every policy on ten seeds")

// variant is a policy under one reading of what the published comparison leaves open.
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
		{policy: "pba", reading: "donors without jobs, D = 0, transient vGPUs go after 1 slot", pba: true, change: both(donors, noDeficit, patience(1))},
		{policy: "has-gpu", reading: "default", change: terms("has-gpu"), scheduler: has},
		{policy: "mqfq-sticky", reading: "default", change: terms("mqfq-sticky"), scheduler: mqfq(ChooseSticky)},
		{policy: "mqfq-sticky", reading: "the longest backlog", change: terms("mqfq-sticky"), scheduler: mqfq(ChooseLongest)},
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

// Both counts of switches of every policy and reading, with generated arrivals as in the comparison of the specification, seeds 101 to 110.
func TestSwitchCounts(t *testing.T) {
	if !*long {
		t.Skip("ten seeds of every reading: -long")
	}
	columns := []string{"profit", "violation_rate", "utilisation", "switches", "redeployments", "loads"}
	rows := [][]string{append([]string{"policy", "reading"}, columns...)}
	for _, v := range variants() {
		c := pricing.Default()
		c.Demand.Source, c.Demand.Start = pricing.Generated, 0
		v.change(&c)
		var e *pricing.Pricing
		var err error
		if v.scheduler == nil {
			e, err = pricing.New(c, workload.Default(), nil)
		} else {
			e, err = pricing.Compose(c, workload.Default(), func(s *pricing.Slots) (envs.Policy, error) { return v.scheduler(s) })
		}
		if err != nil {
			t.Fatal(err)
		}
		a := rollout.Actor{Policy: pricing.NewStatic(&c)}
		if v.pba {
			p, err := NewPBA(spsa.Default(), e)
			if err != nil {
				t.Fatal(err)
			}
			a = rollout.Actor{Planner: p}
		}
		mean := make([]float64, len(columns))
		for seed := uint64(101); seed <= 110; seed++ {
			ep, err := rollout.NewRunner(e).Episode(a, seed)
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range columns {
				at, err := e.Spec().InfoIndex(name)
				if err != nil {
					t.Fatal(err)
				}
				mean[i] += ep.Info[at] / 10
			}
		}
		row := []string{v.policy, v.reading}
		for _, x := range mean {
			row = append(row, fmt.Sprintf("%.4g", x))
		}
		rows = append(rows, row)
		t.Log(row)
	}
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, "switches.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()); err != nil {
		t.Fatal(err)
	}
}
