// Package hops is the suite of HOPS (Huang et al., Joint Pricing and Scheduling for SLA-aware Serverless GPU
// Services): its Figs. 2 to 4 on generated arrivals and on a day of Azure, and the control that the paper lacks, the
// same rivals at other prices.
//
// A policy of the suite is a scheduler with prices above it: static prices, the paper's pricer (PBA), or a trained
// policy (package zoo). Each plays stoker/Pricing-v1 with its scheduler inside, with the pool that the scheduler is
// made for. Under one workload seed all face the same jobs, as far as their prices attract the same users.
//
// policies.go lists the policies, match.go what they did, with a second simulator's numbers; suite.go has the paper's
// numbers, and plays Figs. 2 to 4; figures.go draws them; control.go is the control of prices, claims.go the table of the
// paper's claims. Nothing here is fitted: the constants are those of pricing.Default and spsa.Default. docs/hops.md
// discusses the result.
package hops

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/suite"
)

// What the paper prints, in Sec. IV and Figs. 2 to 4. Where it gives a bound, the row's note says so.
const (
	paperProfit    = 6.7e5 // HOPS, "nearly"
	paperBest      = 4.4e5 // HAS-GPU, the best rival, "around"
	paperViolated  = 14.0  // % of HOPS at the 40th window, "around"
	paperViolatedH = 19.0  // % of HAS-GPU, "over"
	paperSwitches  = 422.0
	// HOPS' switches are "less than 4 %" of HAS-GPU's and "an order of magnitude" fewer than MQFQ-Sticky's.
	paperSwitchesHAS  = 10550.0
	paperSwitchesMQFQ = 4220.0
	paperUsed         = 71.0 // %, the middle of 70 to 72
)

// Fig. 3's final values of tiers 1 to 3.
var (
	paperShares    = []float64{21, 35, 44} // %
	paperPrices    = []float64{1.1, 1.3, 1.5}
	paperBaselines = []float64{8, 15, 20}
)

// tail is the number of windows at the end of an episode over which final values are averaged, an assumption: the
// paper reads them off its figure.
const tail = 10

// world is what policies play in, their own terms aside.
type world struct {
	name   string // as tables have it
	config pricing.Config
	load   workload.Config
}

// Names of worlds, as tables have them.
const (
	generatedName = "generated arrivals"
	azureName     = "Azure day"
	outsideName   = "generated arrivals, users may stay away"
)

// generated is the paper's setting on a day's wave with noise, from its first window.
func generated() world {
	w := world{name: generatedName, config: pricing.Default(), load: workload.Default()}
	w.config.Demand.Source, w.config.Demand.Start = pricing.Generated, 0
	return w
}

// azure is the same on the embedded sample of Azure's day, from midnight: 24 windows, after which the day begins anew.
func azure() world {
	w := world{name: azureName, config: pricing.Default(), load: workload.Default()}
	w.config.Demand.Start = 0
	return w
}

// azureData is the day of the larger sample, 100 functions, in a folder of data.
func azureData(data string) (world, error) {
	w := azure()
	w.name = "Azure day, 100 functions"
	w.load.Path, w.load.Sample = filepath.Join(data, "azure2019"), 100
	if file := filepath.Join(w.load.Path, "100_inv.csv"); !isFile(file) {
		return w, suite.Usage("--data: there is no %s, the invocations of In-Vitro's sample of 100 functions", file)
	}
	return w, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// outside is generated arrivals of users who may stay away, so that profit has an optimum in price.
func outside() world {
	w := generated()
	w.name, w.config.Profile = outsideName, pricing.OutsideProfile
	return w
}

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name: "hops",
		Doc: "HOPS' Figs. 2 to 4 (profit, violations, prices, switches, utilisation) with the control of prices that " +
			"the paper lacks",
		Paper: "Huang, Yang, Wang and Wu, Joint Pricing and Scheduling for SLA-aware Serverless GPU Services",
		Seeds: 20, QuickSeeds: 8, Run: run,
	}
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	worlds := []world{generated(), azure()}
	if o.Data != "" {
		w, err := azureData(o.Data)
		if err != nil {
			return err
		}
		worlds = append(worlds, w)
	}
	zoo, err := shipped()
	if err != nil {
		return err
	}
	away := outside()
	return runIn(ctx, &o, r, worlds, &away, zoo)
}

// runIn plays Figs. 2 to 4 in worlds, and the control in the first of them and where users may stay away.
func runIn(ctx context.Context, o *suite.Options, r *suite.Report, worlds []world, away *world, zoo []*learned) error {
	everybody := func(w *world) *match {
		fit, notes := trained(zoo, w, unitPrices())
		for _, n := range notes {
			r.Note("%s", n)
		}
		return &match{r: r, world: w, policies: slices.Concat([]policy{hops(w)}, rivals(unitPrices()), fit)}
	}
	var mains []*match
	for i := range worlds {
		mains = append(mains, everybody(&worlds[i]))
	}
	first := everybody(away)
	if err := play(ctx, o, "figures", true, append(slices.Clone(mains), first)...); err != nil {
		return err
	}
	figure2(r, mains)
	figure3(r, mains)
	figure4(r, mains)
	for _, m := range mains {
		m.judge(m.world.name+", rivals at 1.0", metrics, m)
	}
	c, err := playControl(ctx, o, r, mains[0], first, zoo)
	if err != nil {
		return err
	}
	c.report(r)
	reference(r, mains[0], c)
	suite.Judge(r, &evidence{mains, c}, claims)
	if len(zoo) == 0 {
		r.Note("no trained policy plays: the zoo has none whose name begins with %s", zooPrefix)
	}
	return nil
}
