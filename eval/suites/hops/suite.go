package hops

import (
	"context"
	"slices"

	"github.com/stoker-rl/stoker/eval/suite"
)

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
