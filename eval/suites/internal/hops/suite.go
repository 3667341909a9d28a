// Package hops is the suite of HOPS (Huang et al., Joint Pricing and Scheduling for SLA-aware Serverless GPU
// Services): its Figs. 2 to 4 on generated arrivals and on a day of Azure, and the control that the paper lacks, the
// same rivals at other prices.
//
// A policy of the suite is a scheduler with prices above it: static prices, the paper's pricer (PBA), or a trained
// policy (package zoo). Each plays stoker/Pricing-v1 with its scheduler inside, with the pool that the scheduler is
// made for. Under one workload seed all face the same jobs, as far as their prices attract the same users.
//
// suite.go has the paper's numbers, plays Figs. 2 to 4 and lists the policies; match.go is what they did, with a second
// simulator's numbers; figures.go draws them; control.go is the control of prices, claims.go the table of the paper's
// claims. Nothing here is fitted: the constants are those of pricing.Default and spsa.Default. docs/hops.md
// discusses the result.
package hops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	baselines "github.com/stoker-rl/stoker/agents/baselines/pricing"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
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
	mains := lists.Make(len(worlds), func(i int) *match { return everybody(&worlds[i]) })
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
		r.Note("no trained policy plays: the zoo has none for %s or %s", pricing.ID, pricing.SlotsID)
	}
	return nil
}

// policy is who plays: a scheduler and prices above it.
type policy struct {
	name, scheduler string
	// prices and baselines stand still where pba and learned are nil. Only ARMS has use for baselines.
	prices    []float64
	baselines []int
	// pba moves both after every window.
	pba *spsa.Config
	// learned is a trained policy that sets both, or schedules; nil for the others.
	learned *learned
}

// Names, as tables and figures have them.
const (
	hopsName   = "HOPS"
	spssName   = "SPSS 14/14/15"
	tunedName  = "SPSS 8/15/20"
	torporName = "Torpor"
	hasName    = "HAS-GPU"
	mqfqName   = "MQFQ-Sticky"
)

// hops is the paper's method: PBA as recommended above ARMS.
func hops(w *world) policy {
	c := spsa.Default()
	c.Prices.Unit = unit(&w.config)
	return policy{name: hopsName, scheduler: pricing.ARMSName, pba: &c}
}

// unit is the slope of profit that counts as one for prices, Λ·H·U with the billing units of the first tier
// (docs/agents/spsa.md).
func unit(c *pricing.Config) float64 {
	mean := 45.0
	if c.Profile == pricing.OutsideProfile {
		mean = 104
	}
	return mean * float64(c.Slots) * c.Tiers[0].Demand
}

// rivals are the paper's at static prices; its ablation SPSS twice, with an equal split of 43 keep-alive vGPUs and
// with the one at which the paper's HOPS ends.
func rivals(prices []float64) []policy {
	return []policy{
		{name: spssName, scheduler: pricing.ARMSName, prices: prices, baselines: []int{14, 14, 15}},
		{name: tunedName, scheduler: pricing.ARMSName, prices: prices, baselines: []int{8, 15, 20}},
		{name: torporName, scheduler: "torpor", prices: prices},
		{name: hasName, scheduler: "has-gpu", prices: prices},
		{name: mqfqName, scheduler: "mqfq-sticky", prices: prices},
	}
}

// withOwnPBA are the rivals' schedulers with a PBA of their own above them. Their pools have no baselines to move.
func withOwnPBA(w *world) []policy {
	var out []policy
	for _, p := range rivals(nil) {
		if p.scheduler == pricing.ARMSName {
			continue // with PBA that is HOPS
		}
		c := *hops(w).pba
		c.Baselines.Step = 0
		p.pba = &c
		out = append(out, p)
	}
	return out
}

// contestant is the policy in a world, ready to play.
func (p policy) contestant(w *world) (eval.Contestant, error) {
	c := w.config
	if err := baselines.Terms(p.scheduler, &c); err != nil {
		return eval.Contestant{}, fmt.Errorf("%s: %w", p.name, err)
	}
	if p.prices != nil {
		c.Prices = p.prices
	}
	if p.baselines != nil {
		c.Baselines = p.baselines
	}
	if p.learned != nil {
		return p.learned.contestant(c, w.load), nil
	}
	newActor := func(envs.Env) (rollout.Actor, error) { return rollout.Actor{Policy: pricing.NewStatic(&c)}, nil }
	if p.pba != nil {
		newActor = p.planner
	}
	return eval.Contestant{
		Name: p.name, Kind: catalog.Heuristic, Versions: []eval.Version{{New: newActor}},
		NewEnv: func() (envs.Env, error) { return catalog.Default().NewEnv(pricing.ID, &c, w.load) },
	}, nil
}

// planner is the policy's PBA for environments such as env.
func (p policy) planner(env envs.Env) (rollout.Actor, error) {
	planner, err := baselines.NewPBA(*p.pba, env)
	return rollout.Actor{Planner: planner}, err
}

// learned is a policy of the zoo: a pricer above ARMS, or a scheduler below static prices.
type learned struct {
	*eval.Trained
	config pricing.Config // in which it was trained
}

// schedules reports whether the policy acts in slots; else it prices.
func (l *learned) schedules() bool { return l.File.EnvID == pricing.SlotsID }

// shipped are the zoo's policies for HOPS: those trained in an environment of pricing.
func shipped() (out []*learned, err error) {
	all, err := eval.ShippedLike("")
	for _, t := range all {
		if c, ok := t.Experiment.Env.Config.(*pricing.Config); ok {
			out = append(out, &learned{t, *c})
		}
	}
	return out, err
}

// fits says why the policy cannot play in a world, empty where it can: a policy knows the sizes that it was trained
// with, a pricer also the users and the market.
func (l *learned) fits(c *pricing.Config) string {
	switch t := &l.config; {
	case t.Profile != c.Profile && !l.schedules():
		return fmt.Sprintf("it was trained with profile %s, and this is %s", t.Profile, c.Profile)
	case t.Market != c.Market && !l.schedules():
		return "it was trained with another env.market"
	case t.VGPUs != c.VGPUs || t.Slots != c.Slots || !reflect.DeepEqual(t.Tiers, c.Tiers):
		return fmt.Sprintf("it was trained with %d vGPUs, %d slots and other tiers, or other numbers of them", t.VGPUs,
			t.Slots)
	}
	return ""
}

// trained are the zoo's policies that fit a world, schedulers below static prices, with a note on each that does not.
// Pricers set their own prices.
func trained(all []*learned, w *world, prices []float64) (fit []policy, notes []string) {
	for _, l := range all {
		if why := l.fits(&w.config); why != "" {
			notes = append(notes, fmt.Sprintf("%s does not play on %s: %s", l.Source, w.name, why))
			continue
		}
		p := policy{name: l.Source, scheduler: pricing.ARMSName, learned: l}
		if l.schedules() {
			p.prices, p.baselines = prices, l.config.Baselines
		}
		fit = append(fit, p)
	}
	return fit, notes
}

// schedulers are the zoo's schedulers that fit a world, below static prices.
func schedulers(all []*learned, w *world, prices []float64) []policy {
	fit, _ := trained(all, w, prices)
	return slices.DeleteFunc(fit, func(p policy) bool { return !p.learned.schedules() })
}

// contestant is the policy in a world's configuration c, with the pool, the bounds and the kind of action that it was
// trained with.
func (l *learned) contestant(c pricing.Config, load workload.Config) eval.Contestant {
	t, id := &l.config, pricing.ID
	c.Scheduler, c.Pool, c.Load, c.Patience, c.Layout = t.Scheduler, t.Pool, t.Load, t.Patience, t.Layout
	c.PriceMin, c.PriceMax, c.BaselineMax = t.PriceMin, t.PriceMax, t.BaselineMax
	if l.schedules() {
		id, c.Acts, c.Rewards = pricing.SlotsID, t.Acts, t.Rewards
	}
	return l.Contestant(func() (envs.Env, error) { return catalog.Default().NewEnv(id, &c, load) })
}
