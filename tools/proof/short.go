package proof

import (
	"fmt"
	"strings"
)

// Short is a run of seconds on the configuration of a proof.
type Short struct {
	Name  string
	Steps []Step // as a proof's
	// Files are patterns (path.Match) of the files in the digest. Without any, the run only has to pass.
	Files []string
}

// tested are the files that a short run of tests writes: claims, figures and tables.
var tested = []string{ClaimsFile, FiguresFile, "*.csv"}

// The baselines of kept results. They are named, so that a baseline added to a configuration leaves these results as they are.
var (
	gnnBaselines = []string{"fcfs-nodes", "sjf-nodes", "packer-nodes", "tetris", "random-nodes"}
	deepRMRivals = []string{"sjf", "tetris-star", "packer", "fcfs", "random"}
)

// Shorts lists all short runs.
func Shorts() []Short {
	shorts := []Short{
		train("lqr", "classic/lqr", 6000, 2),
		train("cartpole-reinforce", "classic/cartpole-reinforce", 6000, 2),
		train("cartpole-dqn", "classic/cartpole-dqn", 14_000, 2),
		train("cartpole-ppo", "classic/cartpole-ppo", 6000, 2),
		train("lqr-ppo", "classic/lqr-ppo", 6000, 2),
		train("lqr-sac", "classic/lqr-sac", 6000, 2),
		train("pendulum-sac", "classic/pendulum-sac", 2000, 2),
		train("sizing-sac", "sizing/sac", 6000, 2),
		train("faasconf-firm", "faasconf/firm", 3000, 2),
		train("faasconf-simppo", "faasconf/simppo", 3000, 2),
		train("sizing-main", "sizing/main", 4000, 2, "rule", "autoscaler", "fixed", "oracle"),
		train("sizing", "sizing/attmf", 4000, 2, "fixed", "autoscaler", "random-search", "oracle"),
		train("gnn-twin", "placement/gnn-twin", 6000, 1, gnnBaselines...),
		train("deeprm-discount", "placement/deeprm-discount", 150_000, 2, deepRMRivals...),
		train("deeprm-reinforce", "placement/deeprm-reinforce", 150_000, 2, deepRMRivals...),
		train("deeprm-book", "placement/deeprm-book", 150_000, 2, deepRMRivals...),
		train("deeprm-dqn", "placement/deeprm-dqn", 20_000, 2, deepRMRivals...),
		train("variants-each", "variants/each-reinforce", 4000, 1, "linear"),
		train("variants-once", "variants/once-attmf", 1200, 1, "random"),
		train("variants-served", "variants/served-reinforce", 2000, 1, "linear"),
		train("hops-pba", "pricing/hops-pba", 200, 1, "spss"),
		train("hops-pricer", "pricing/hops-pricer", 1000, 1, "pba", "spss"),
		train("hops-scheduler", "pricing/hops-scheduler", 8000, 1, "arms"),
		{
			Name: "zoo-pricing", Files: []string{"*/scores.csv"},
			Steps: []Step{
				stoker("eval zoo:hops-pricer --seeds 1-2 --set eval.resamples=200 --out $OUT/pricer"),
				stoker("eval zoo:hops-scheduler --seeds 1-2 --set eval.resamples=200 --out $OUT/scheduler"),
			},
		},
	}
	for _, name := range []string{"hops", "gnn-fig3", "gnn-generalise"} {
		shorts = append(shorts, Short{
			Name: "suite-" + name, Files: []string{"rows.csv"},
			Steps: []Step{stoker("suite " + name + " --quick --out $OUT")},
		})
	}
	shorts = append(shorts, Short{
		Name: "suite-optiserve", Files: []string{"rows.csv"},
		Steps: []Step{stoker("suite optiserve --quick --seeds 1 --out $OUT")},
	})
	shorts = append(shorts, Short{
		Name: "suite-stepconf", Files: []string{"rows.csv"},
		Steps: []Step{stoker("suite stepconf --quick --seeds 1 --out $OUT")},
	})
	test := func(name, packages, run string, flags ...string) {
		shorts = append(shorts, Short{Name: name, Files: tested, Steps: []Step{goTest(packages, run, flags...)}})
	}
	test("spread", "./agents/maddpg", "^TestSimpleSpread$", "-long", "-episodes=1280", "-seeds=1")
	test("suite-faasconf", "./eval/suites/internal/faasconf", "^TestStatic$|^TestTrace$", "-long")
	test("deeprm", "./agents/baselines/deeprm", "^TestLoadsShort$")
	test("nodes", "./agents/baselines/placement", "^TestNodesSweep$")
	test("switches", "./agents/baselines/pricing", "^TestSwitchCounts$")
	test("apps", "./eval/profiles", "^TestCheck$|^TestReplay$")
	test("queues", "./envs/sim", "Queues|ErlangC|SimFaaS|Little|Model|Reference|Workers")
	test("users", "./envs/sizing", "^TestUsersCost$")
	test("arms", "./envs/pricing", "^TestARMSOptimum$")
	test("spsa", "./agents/spsa", "Optimum|Estimator|Bias|MeanPath|Counterfactuals")
	test("statistics", "./eval/stats", "Rliable|Coverage|Holm|FamilyWise|Paired|Power")
	pass := func(name, packages, run string) {
		shorts = append(shorts, Short{Name: name, Steps: []Step{goTest(packages, run)}})
	}
	pass("worlds", "./envs/envtest ./catalog ./envs/classic",
		"EveryDefect|Entries|Golden|Workers|Gymnasium|SpreadUnder")
	pass("numerics", "./nets/engines ./nets/native", "Gradients|Agreement|AdamIsPyTorchs")
	pass("agents", "./agents/maddpg ./eval/explain ./catalog/schema", "Uniform|OneAgent|Permutation|Linear|Agrees")
	pass("prcp", "./agents/baselines/variants ./agents/baselines/variants/published", "Presets|Answers|Defects")
	pass("fronts", "./envs/frontier", "Enumeration|Within")
	pass("onnx", "./policy/onnx", "Sound|Refuses|EveryActor|Agrees")
	pass("resume", "./train", "EveryOperation|AnyMoment|FullDisk|ThreadsChangeNothing|StoppedInEvaluation")
	pass("damage", "./train", "DamagedRun")
	pass("fuzz", "./tools/fuzzed", "Targets")
	return shorts
}

// train is a configuration's short run: training with two evaluations, then an evaluation of the policy and of baselines
// on two workload seeds. The digest leaves out learner.safetensors, whose format changes with the program.
func train(name, config string, steps, episodes int, baselines ...string) Short {
	among := "--set eval.baselines=[]"
	if len(baselines) > 0 {
		among = strings.Join(baselines, " ")
	}
	return Short{
		Name: name,
		Files: []string{"run/metrics.jsonl", "run/checkpoints/*/weights.safetensors",
			"run/checkpoints/*/optimiser.safetensors", "run/eval/scores.csv"},
		Steps: []Step{
			stoker(fmt.Sprintf("train configs/%s.yaml --name run --runs $OUT --set train.steps=%d "+
				"--set train.evaluate.every=%d --set train.evaluate.episodes=%d", config, steps, steps/2, episodes)),
			stoker("eval $OUT/run " + among + " --seeds 1-2 --set eval.resamples=200"),
		},
	}
}
