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
			Claims: "HOPS' Figs. 2 to 4 on 20 seeds, and the same baselines at other prices.",
			Steps:  []Step{stoker("suite hops --out $OUT"), goTest("./eval/suites/internal/hops", "Quick", "-long")},
			Keep:   append([]string{"second-simulator.csv"}, suiteFiles...),
			Short:  []string{"suite-hops"},
		},
		{
			Name: "faasconf", Kind: Evaluation, Subject: "figures", Minutes: 60,
			Claims: "FaaSConf's Figs. 1 to 3 and 8 to 14, five trainings of what learns, 20 seeds.",
			Steps: []Step{
				stoker("suite faasconf --runs runs --out $OUT"),
				goTest("./eval/suites/internal/faasconf", "^TestStatic$|^TestTrace$|^TestTuning$|^TestLab$"),
			},
			// docs/faasconf has its figures.
			Keep:  []string{"suite.md", "fig2-tuning.csv", "fig8-searches.csv", "fig9-equal.csv", "fig10-minutes.csv"},
			Short: []string{"suite-faasconf"},
		},
		{
			Name: "gnnfig3", Kind: Evaluation, Subject: "figures", Minutes: 5,
			Claims: "Fig. 3 of the graph paper and the numbers in its prose.",
			Steps:  []Step{stoker("suite gnn-fig3 --out $OUT"), goTest("./eval/suites/internal/gnn", "QuickFig3", "-long")},
			Keep:   suiteFiles,
			Short:  []string{"suite-gnn-fig3"},
		},
		{
			Name: "gnngeneralise", Kind: Evaluation, Subject: "figures", Minutes: 5,
			Claims: "The graph policy where it was not trained: other clusters, loads and traces.",
			Needs:  []Need{Data},
			Steps: []Step{
				stoker("suite gnn-generalise --data $STOKER_DATA --out $OUT"),
				goTest("./eval/suites/internal/gnn", "QuickGeneralise", "-long"),
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
				goTest("./eval/suites/internal/optiserve", "Quick", "-long"),
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
				goTest("./eval/suites/internal/stepconf", "Quick", "-long"),
			},
			// docs/stepconf has its figures, docs/stepconf.md its tables.
			Keep:  []string{"rows.csv"},
			Short: []string{"suite-stepconf"},
		},
	}
}

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

// goldenOn compares golden traces on another architecture or instruction set level, given as GOARCH=… or GOAMD64=….
func goldenOn(setting string) Step {
	s := goTest("./catalog", "Golden", "-long")
	s.Env = []string{setting}
	return s
}

func numerics() []Proof {
	gymnasium := goTest("./envs/envtest ./envs/classic", "EveryDefect|Golden|Gymnasium|MPE2|SpreadUnder")
	gymnasium.Env = []string{"STOKER_GYMNASIUM=$TMP/cartpole.gz"}
	return []Proof{
		{
			Name: "worlds", Kind: Numerics, Subject: "environments", Minutes: 5,
			Claims: "Environments against their contract, their golden traces, Gymnasium and MPE2, on three architectures.",
			Needs:  []Need{Gymnasium},
			Steps: []Step{
				{Args: []string{"$PYTHON", "envs/classic/testdata/record.py", "$TMP/cartpole.gz"}},
				gymnasium, goTest("./catalog", "Entries|Golden|Workers", "-long"), goldenOn("GOARCH=386"), goldenOn("GOAMD64=v3"),
			},
			Short: []string{"worlds"},
		},
		{
			Name: "prcp", Kind: Numerics, Subject: "environments", Minutes: 1,
			Claims: "PRCP's published curves and OptiServe's golden figures come out.",
			Needs:  []Need{Data},
			Steps:  []Step{goTest("./agents/baselines/variants/published", "Curves|Tables|Golden|Truth")},
			Short:  []string{"prcp"},
		},
		{
			Name: "numerics", Kind: Numerics, Subject: "numerics", Minutes: 20,
			Claims: "Gradients of every engine against finite differences, agreement of the engines, PyTorch's Adam.",
			Needs:  []Need{Libtorch},
			Steps: []Step{
				torchTest("./nets/engines ./nets/native", "Gradients|Agreement|AdamIsPyTorchs"),
				torchTest("./nets/engines", "^TestGraphGradients$", "-long"),
			},
			Short: []string{"numerics"},
		},
		{
			Name: "gradients", Kind: Numerics, Subject: "numerics", Minutes: 10,
			Claims: "First gradients of an update equal PyTorch's, from the same parameters and batch.",
			Needs:  []Need{PyTorch, PeerScripts},
			Steps: []Step{goTest("./agents/maddpg", "^TestPeerGradients$",
				"-peer-python=$PEER_PYTHON", "-peer-script=$PEERS/torch_attmf.py")},
			Short: []string{"sizing"},
		},
		{
			Name: "agents", Kind: Numerics, Subject: "numerics", Minutes: 2,
			Claims: "The learner's forms are equal where theory says so; explanations add up; the schema accepts what runs.",
			Steps: []Step{
				goTest("./agents/maddpg ./eval/explain ./catalog/schema", "Uniform|OneAgent|Permutation|Linear|Agrees"),
			},
			Short: []string{"agents"},
		},
		{
			Name: "fronts", Kind: Numerics, Subject: "numerics", Minutes: 10,
			Claims: "Exact fronts of workflows against enumeration: 1,000 generated applications of up to a million " +
				"configurations, PRCP's applications, and SLApp's published tables.",
			Needs: []Need{Data},
			Steps: []Step{goTest("./envs/frontier", "Enumeration|Published|Dominance", "-long")},
			Keep:  []string{"fronts.csv"},
			Short: []string{"fronts"},
		},
		{
			Name: "onnx", Kind: Numerics, Subject: "numerics", Minutes: 15,
			Claims: "Exported ONNX models pass onnx.checker in full, and onnxruntime decides as the policies do, on 10,000 " +
				"random observations each and in an episode.",
			Needs: []Need{ONNX},
			Steps: []Step{
				goTest("./policy/onnx", "Sound|EveryActor|Agrees"), goTest("./eval/onnx", "^TestModelsAgree$", "-long"),
			},
			Keep:  []string{"table.md", "agreement.csv"},
			Short: []string{"onnx"},
		},
	}
}

func robustness() []Proof {
	return []Proof{
		{
			Name: "resume", Kind: Robustness, Subject: "runs", Minutes: 30,
			Claims: "Runs killed at every operation and at any moment, with any number of workers, end with the same bytes.",
			Steps: []Step{goTest("./train", "EveryOperation|AnyMoment|FullDisk|ThreadsChangeNothing|StoppedInEvaluation",
				"-long")},
			Keep:  []string{"*.json"},
			Short: []string{"resume"},
		},
		{
			Name: "damage", Kind: Robustness, Subject: "runs", Minutes: 30,
			Claims: "Every byte of a run flipped and every file cut: refused by name, or harmless.",
			Steps:  []Step{goTest("./train", "DamagedRun", "-long")},
			Keep:   []string{"*.json"},
			Short:  []string{"damage"},
		},
		{
			Name: "torch", Kind: Robustness, Subject: "runs", Minutes: 60,
			Claims: "Runs on libtorch killed and resumed end with the same bytes; memory stays flat over 100,000 updates.",
			Needs:  []Need{Libtorch},
			Steps:  []Step{torchTest("./train", "Torch", "-long")},
			Keep:   []string{"memory.json", "memory.svg"},
		},
		{
			Name: "fuzz", Kind: Robustness, Subject: "runs", Minutes: 180,
			Claims: "Every reader fuzzed for five minutes: nothing panics, hangs or accepts what it must refuse.",
			Steps:  []Step{goTest("./tools/fuzzed", "Readers", "-long")},
			Short:  []string{"fuzz"},
		},
		{
			Name: "race", Kind: Robustness, Subject: "runs", Minutes: 60,
			Claims:  "Every package passes under the race detector, and what reaches C under cgo's pointer checks.",
			Needs:   []Need{Libtorch},
			Steps:   []Step{torchTest(".", "TestDetectors", "-long")},
			Nothing: "it passes or it fails: run it",
		},
	}
}

func speed() []Proof {
	pace := goTest("./agents/baselines/deeprm", "TestPace",
		"-peer=python3 ../../../envs/deeprm/testdata/steps.py $DEEPRM")
	pace.Env = []string{"GOMAXPROCS=1"}
	return []Proof{
		{
			Name: "simspeed", Kind: Speed, Subject: "speed", Minutes: 30,
			Claims: "The simulator's requests a second against SimFaaS, its growth and memory, and a day of 50,000 functions.",
			Needs:  []Need{IdleMachine, SimFaaS},
			Steps: []Step{
				goTest("./envs/sim", "^TestSpeed$", "-long", "-peer=$SIMFAAS"),
				goTest("./bench", "^TestWholeDay$", "-whole-day"),
			},
			Keep: []string{"table.md", "cost.csv", "cost.svg", "speed.json"},
		},
		{
			Name: "speed", Kind: Speed, Subject: "speed", Minutes: 15,
			Claims: "Updates of attention mean-field MADDPG on the CPU engine and on PyTorch in turn, and growth with agents.",
			Needs:  []Need{IdleMachine, PyTorch, PeerScripts},
			Steps:  []Step{{Args: []string{"bench/peers/speed", "$PEER_PYTHON", "$PEERS"}}, kept("^TestKept$")},
			Keep:   []string{"*.jsonl", "peers.md", "growth.csv", "growth.svg", "profile.txt"},
		},
		{
			Name: "xla", Kind: Speed, Subject: "speed", Minutes: 60,
			Claims: "Updates and whole trainings on the CPU engine and by programs that XLA compiles, in turn.",
			Needs:  []Need{IdleMachine, JAX, JAXScripts},
			Steps:  []Step{{Args: []string{"bench/peers/xla", "$JAX_PYTHON", "$PEERS"}}, kept("^TestKeptXLA$")},
			Keep:   []string{"*.jsonl", "xla.md"},
		},
		{
			Name: "graph", Kind: Speed, Subject: "speed", Minutes: 15,
			Claims: "The graph policy on the CPU engine and on PyTorch Geometric in turn, and growth with edges.",
			Needs:  []Need{IdleMachine, PyTorch, PeerScripts},
			Steps:  []Step{{Args: []string{"bench/peers/graph", "$PEER_PYTHON", "$PEERS"}}, kept("^TestKeptGraph$")},
			Keep:   []string{"*.jsonl", "table.md", "profile.txt", "ways.txt"},
		},
		{
			Name: "serving", Kind: Speed, Subject: "speed", Minutes: 20,
			Claims: "stoker serve beside KServe's Python server, asked by Triton's, KServe's and Prometheus' clients, and under " +
				"load with reloads and clients that misbehave.",
			Needs: []Need{IdleMachine, Clients},
			Steps: []Step{served("TestClients|TestPrometheus|TestLoadTools"), served("TestLoad$"), served("TestSoak")},
			Keep: []string{"load.csv", "load.md", "soak.csv", "soak.txt", "triton.txt", "kserve_client.txt",
				"prometheus.txt"},
		},
		{
			Name: "siege", Kind: Speed, Subject: "speed", Minutes: 65,
			Claims: "stoker serve attacked for an hour: honest requests lost, their p99 and the server's memory.",
			Needs:  []Need{IdleMachine},
			Steps:  []Step{served("TestAttackMemory|TestBundleMemory"), served("TestSiege")},
			Keep:   []string{"siege.csv", "siege.svg"},
		},
		{
			Name: "scale", Kind: Speed, Subject: "speed", Minutes: 12,
			Claims: "Generated workflows of 5 to 1,000 functions: time, memory and return of AttMF, MF and MADDPG, and their growth.",
			Needs:  []Need{IdleMachine},
			Steps:  []Step{{Args: []string{"bench/scale.sh"}}, kept("^TestKeptScale$")},
			Keep:   []string{"scale.jsonl", "returns.csv", "table.md", "growth.csv", "exponents.json", "scale.svg"},
		},
		{
			Name: "deeprmpace", Kind: Speed, Subject: "speed", Minutes: 2,
			Claims: "Steps a second of DeepRM's cluster against its own Python code in turn.",
			Needs:  []Need{IdleMachine, DeepRMCode},
			Steps:  []Step{pace},
			Keep:   []string{"pace.csv"},
		},
		{
			Name: "gnnfig1", Kind: Speed, Subject: "figures", Minutes: 2,
			Claims: "Fig. 1 of the graph paper: seconds of inference over edges.",
			Needs:  []Need{IdleMachine},
			Steps: []Step{
				stoker("suite gnn-fig1 --seeds 1-6 --out $OUT"), goTest("./eval/suites/internal/gnn", "QuickFig1", "-long"),
			},
			Keep: append([]string{"fig1-seconds.csv"}, suiteFiles...),
		},
		{
			Name: "hopsspeed", Kind: Speed, Subject: "speed", Minutes: 1,
			Claims: "Runs of HOPS' world from 64 to 65,536 vGPUs: time grows with arrivals and F·log N.",
			Needs:  []Need{IdleMachine},
			Steps:  []Step{goTest("./envs/pricing", "TestHOPSSpeed", "-long")},
			Keep:   []string{"table.md"},
		},
		{
			Name: "kernels", Kind: Speed, Subject: "speed", Minutes: 2,
			Claims:  "The CPU engine's kernels: bits, accuracy, and share of the core's limits.",
			Needs:   []Need{IdleMachine},
			Steps:   []Step{goTest("./nets/native/kernel", ".", "-long")},
			Nothing: "its shares of the core's limits hold for one machine: run it on yours",
		},
		{
			Name: "onnxspeed", Kind: Speed, Subject: "speed", Minutes: 2,
			Claims:  "A decision of package policy against onnxruntime's call from Python, in turn on one thread.",
			Needs:   []Need{IdleMachine, ONNX},
			Steps:   []Step{goTest("./eval/onnx", "^TestLatency$", "-long")},
			Nothing: "its times hold for one machine: run it on yours",
		},
	}
}

// served runs tests of the server with other programs.
func served(run string) Step {
	s := goTest("./serving", run, "-long")
	s.Env = []string{"CLIENTS=$CLIENTS", "STOKER=../bin/stoker"}
	return s
}

// kept computes claims, tables and figures from the measurements of a peer's script in $OUT.
func kept(run string) Step {
	return goTest("./bench", run, "-measured=$OUT")
}
