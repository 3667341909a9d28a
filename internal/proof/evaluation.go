package proof

// Files of stoker suite that pages show.
var suiteFiles = []string{"suite.md", "*.png"}

func evaluation() []Proof {
	return []Proof{
		{
			Name: "deeprm", Kind: Evaluation, Subject: "environments", Minutes: 2,
			Claims: "DeepRM's cluster against its own code step by step, and five rules at ten loads against another implementation.",
			Steps: []Step{
				goTest("./envs/deeprm", "AsPublished"),
				goTest("./agents/baselines/deeprm", "Loads", "-long"),
			},
			Keep:  []string{"table.md", "loads.svg"},
			Short: []string{"deeprm"},
		},
		{
			Name: "nodes", Kind: Evaluation, Subject: "environments", Minutes: 2,
			Claims: "Nine rules on the cluster of unlike nodes at ten loads: slowdown and utilisation rise with the load.",
			Steps:  []Step{goTest("./agents/baselines/placement", "NodesSweep", "-long")},
			Keep:   []string{"table.md", "loads.svg"},
			Short:  []string{"nodes"},
		},
		{
			Name: "switches", Kind: Evaluation, Subject: "environments", Minutes: 1,
			Claims: "Both counts of switches in HOPS' world, under every reading of what the paper leaves open.",
			Steps:  []Step{goTest("./agents/baselines/pricing", "SwitchCounts", "-long")},
			Keep:   []string{"switches.csv"},
			Short:  []string{"switches"},
		},
		{
			Name: "hops", Kind: Evaluation, Subject: "figures", Minutes: 15,
			Claims: "HOPS' Figs. 2 to 4 on 20 seeds, and the same rivals at other prices.",
			Steps:  []Step{stoker("suite hops --out $OUT"), goTest("./eval/suites/hops", "Quick", "-long")},
			Keep:   append([]string{"second-simulator.csv"}, suiteFiles...),
			Short:  []string{"suite-hops"},
		},
		{
			Name: "faasconf", Kind: Evaluation, Subject: "figures", Minutes: 30,
			Claims: "FaaSConf's Figs. 1 to 3 and 8 to 14, five trainings of what learns, 20 seeds.",
			Steps: []Step{
				stoker("suite faasconf --runs runs --out $OUT"),
				goTest("./eval/suites/faasconf", "^TestStatic$|^TestTrace$|^TestTuning$|^TestLab$"),
			},
			// docs/faasconf has its figures.
			Keep:  []string{"suite.md", "fig2-tuning.csv", "fig8-searches.csv", "fig9-equal.csv", "fig10-minutes.csv"},
			Short: []string{"suite-faasconf"},
		},
		{
			Name: "gnnfig3", Kind: Evaluation, Subject: "figures", Minutes: 5,
			Claims: "Fig. 3 of the graph paper and the numbers in its prose.",
			Steps:  []Step{stoker("suite gnn-fig3 --out $OUT"), goTest("./eval/suites/gnn", "QuickFig3", "-long")},
			Keep:   suiteFiles,
			Short:  []string{"suite-gnn-fig3"},
		},
		{
			Name: "gnngeneralise", Kind: Evaluation, Subject: "figures", Minutes: 5,
			Claims: "The graph policy where it was not trained: other clusters, loads and traces.",
			Needs:  []Need{Data},
			Steps: []Step{
				stoker("suite gnn-generalise --data $STOKER_DATA --out $OUT"),
				goTest("./eval/suites/gnn", "QuickGeneralise", "-long"),
			},
			Keep:  suiteFiles,
			Short: []string{"suite-gnn-generalise"},
		},
		{
			Name: "optiserve", Kind: Evaluation, Subject: "figures", Minutes: 10,
			Claims: "OptiServe's Figs. 3.1, 5.1 and 5.3 to 5.6: heuristics beside the exact optimum on drawn problems, PRCP's curves.",
			Needs:  []Need{Data},
			Steps: []Step{
				stoker("suite optiserve --data $STOKER_DATA --out $OUT"),
				goTest("./eval/suites/optiserve", "Quick", "-long"),
			},
			// docs/optiserve has its figures, docs/optiserve.md its tables.
			Keep:  []string{"rows.csv"},
			Short: []string{"suite-optiserve"},
		},
		{
			Name: "stepconf", Kind: Evaluation, Subject: "figures", Minutes: 5,
			Claims: "StepConf's Figs. 3 to 7 and 16 to 23 on 20 seeds: laws and their fits, limits kept and their cost, mapping.",
			Needs:  []Need{Data},
			Steps: []Step{
				stoker("suite stepconf --data $STOKER_DATA --out $OUT"),
				goTest("./eval/suites/stepconf", "Quick", "-long"),
			},
			// docs/stepconf has its figures, docs/stepconf.md its tables.
			Keep:  []string{"rows.csv"},
			Short: []string{"suite-stepconf"},
		},
	}
}
