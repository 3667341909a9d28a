package proof

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
				stoker("suite gnn-fig1 --seeds 1-6 --out $OUT"), goTest("./eval/suites/gnn", "QuickFig1", "-long"),
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
