package proof

func simulation() []Proof {
	return []Proof{
		{
			Name: "queues", Kind: Simulation, Subject: "simulator", Minutes: 60,
			Claims: "The simulator against queueing theory, Little's law and SimFaaS, long runs.",
			Steps: []Step{
				goTest("./envs/sim", "Queues|ErlangC|SimFaaS|Little|Model|Reference|Workers", "-long"),
			},
			Keep:  []string{"queues.csv", "queues.svg"},
			Short: []string{"queues"},
		},
		{
			Name: "laws", Kind: Simulation, Subject: "simulator", Minutes: 1,
			Claims: "The sizing environment against FaaSConf's published measurements.",
			Needs:  []Need{Data},
			Steps:  []Step{goTest("./envs/sizing/calibrate", "TestLaws|TestMemory|TestPublished")},
			Keep:   []string{"table.md", "latency.png"},
			Short:  []string{"sizing"},
		},
		{
			Name: "apps", Kind: Simulation, Subject: "figures", Minutes: 1,
			Claims: "Workflows on AWS: predicted mean, p95 and cost beside 9,000 measured requests, laws beside Parrotfish's profiling.",
			Needs:  []Need{Data},
			Steps:  []Step{goTest("./eval/profiles", "^TestMeasured")},
			Keep:   []string{"*.csv"},
			Short:  []string{"apps"},
		},
		{
			Name: "users", Kind: Simulation, Subject: "environments", Minutes: 10,
			Claims: "The cheapest configuration that keeps Sizing-v3's thresholds costs more the more users there are.",
			Steps:  []Step{goTest("./envs/sizing", "^TestUsersCost$", "-long")},
			Keep:   []string{"users.csv", "users.svg"},
			Short:  []string{"users"},
		},
		{
			Name: "arms", Kind: Simulation, Subject: "environments", Minutes: 4,
			Claims: "HOPS' scheduler against the exact optimum in small worlds: is its cost below twice the least?",
			Steps:  []Step{goTest("./envs/pricing", "ARMSOptimum", "-long")},
			Short:  []string{"arms"},
		},
		{
			Name: "spsa", Kind: Simulation, Subject: "learning", Minutes: 5,
			Claims: "HOPS' pricer, PBA, against theory and against the optimum of its demand.",
			Steps: []Step{
				goTest("./agents/spsa", "Optimum|Estimator|Bias|MeanPath|Counterfactuals|Resume|NoAllocation", "-long"),
			},
			Keep:  []string{"spsa.json", "market.svg", "market-users.svg"},
			Short: []string{"spsa"},
		},
		{
			Name: "hopsgrid", Kind: Simulation, Subject: "learning", Minutes: 20,
			Claims: "PBA against the best of a grid of prices and baselines in the full simulator.",
			Steps:  []Step{goTest("./agents/spsa", "TestHOPSGrid", "-long")},
			Keep:   []string{"hops.svg", "hops-bounded.svg", "*-seeds.csv"},
			Short:  []string{"hops-pba", "suite-hops"},
		},
		{
			Name: "statistics", Kind: Simulation, Subject: "statistics", Minutes: 5,
			Claims: "Intervals cover, verdicts are false as rarely as promised, power is as computed, rliable's vectors agree.",
			Steps: []Step{
				goTest("./eval/stats", "Rliable|Coverage|Holm|FamilyWise|Paired|Power", "-long"),
			},
			Keep:  []string{"*.csv", "*.svg", "power.md"},
			Short: []string{"statistics"},
		},
	}
}
