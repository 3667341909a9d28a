// Package proof is the table of long proofs: measurements that take longer than `make test` and whose results are
// stored under docs/results. Tests report what they measured with [Claim] and [Log]. [Table] lists the proofs: what
// each claims, the commands that measure it, what they need, and a short run. The bytes that the short run writes tell
// whether the stored result still describes the code.
//
// Command verify (tools/proof/verify) runs proofs, lists which results are fresh, and generates docs/claims.md. The
// meaning of a claim is defined by the test that makes it, not here.
package proof

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what a proof measures; it decides how the freshness of the result is checked.
type Kind string

// The first three are deterministic: the digest of a short run tells whether the result is fresh. Numerics and
// Robustness are fresh if their short run passes. A Speed holds only for its revision, date and machine.
const (
	Training   Kind = "training"
	Evaluation Kind = "evaluation"
	Simulation Kind = "simulation"
	Numerics   Kind = "numerics"
	Robustness Kind = "robustness"
	Speed      Kind = "speed"
)

// Kinds lists all kinds.
var Kinds = []Kind{Training, Evaluation, Simulation, Numerics, Robustness, Speed}

// Need is something that a proof needs in addition to Go.
type Need struct {
	// Env is the environment variable that must name it; "" for none.
	Env string `json:"env,omitempty"`
	// Text describes it.
	Text string `json:"text"`
}

// What proofs need in addition to Go.
var (
	Libtorch    = Need{Text: "libtorch (make cuda)"}
	IdleMachine = Need{Text: "an idle machine"}
	Data        = Need{Env: "STOKER_DATA", Text: "the folder of published traces and measurements"}
	Gymnasium   = Need{Env: "PYTHON", Text: "a Python with gymnasium 1.4.0, mpe2 1.1.1 and numpy"}
	PyTorch     = Need{Env: "PEER_PYTHON", Text: "a Python with torch and torch_geometric"}
	JAX         = Need{Env: "JAX_PYTHON", Text: "a Python with jax, sbx-rl, torch and gymnasium"}
	JAXScripts  = Need{Env: "PEERS", Text: "the folder of jax_attmf.py, jax_ppo_cartpole.py and sbx_sac_pendulum.py"}
	ONNX        = Need{Env: "ONNX_PYTHON", Text: "a Python with policy/onnx/onnxtest/requirements.txt"}
	PeerScripts = Need{Env: "PEERS", Text: "the folder of torch_attmf.py, torch_simple_spread.py and pyg_gnn.py"}
	Clients     = Need{Env: "CLIENTS", Text: "the Python that serving/clients/python prints; wrk, h2load and prometheus"}
	DeepRMCode  = Need{Env: "DEEPRM", Text: "a clone of github.com/hongzimao/deeprm at fa78411, and python3 with numpy"}
	SimFaaS     = Need{Env: "SIMFAAS", Text: "the command simfaas-rate of docs/results/simspeed/README.md"}
)

// Step is one command. In arguments and environment, $OUT is the folder of the proof's files, $TMP a temporary folder,
// and the variables of the proof's needs are replaced.
type Step struct {
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"` // added to the environment
	// Unless is the run that the step trains. Where its folder exists, stoker resume takes the step's place, so that runs of hours
	// are trained only once, and one that was stopped is finished before it counts.
	Unless string `json:"unless,omitempty"`
	// Stdout is the file in $OUT for the standard output; "" writes it to the log.
	Stdout string `json:"stdout,omitempty"`
}

// Proof is one row of the table.
type Proof struct {
	Name    string   `json:"name"`    // of the row, and of its folder under docs/results
	Claims  string   `json:"claims"`  // what it claims, a sentence
	Kind    Kind     `json:"kind"`    //
	Subject string   `json:"subject"` // of the page under docs/claims
	Needs   []Need   `json:"needs,omitempty"`
	Minutes int      `json:"minutes"` // about, on two cores
	Steps   []Step   `json:"steps"`
	Keep    []string `json:"keep,omitempty"`  // patterns (path.Match) of files beside claims that docs/results keeps
	Short   []string `json:"short,omitempty"` // names of short runs
	// Nothing is the reason why no result is kept; "" where one is.
	Nothing string `json:"nothing_kept,omitempty"`
}

// Subjects are the pages of claims, in their order.
var Subjects = []string{
	"environments", "simulator", "numerics", "learning", "figures", "statistics", "runs", "speed",
}

// Table lists all proofs.
func Table() []Proof {
	return slices.Concat(training(), evaluation(), simulation(), numerics(), robustness(), speed())
}

// Find returns the proof of a name.
func Find(name string) (Proof, error) {
	var names []string
	for _, p := range Table() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if near := similar(name, names); len(near) > 0 {
		return Proof{}, fmt.Errorf("no proof is named %q; close names: %s", name, strings.Join(near, ", "))
	}
	return Proof{}, fmt.Errorf("no proof is named %q; the names: %s", name, strings.Join(names, ", "))
}

// similar lists the names that contain the given one, are contained in it or start as it does.
func similar(name string, names []string) (near []string) {
	if name == "" {
		return nil
	}
	start := name[:min(3, len(name))]
	for _, n := range names {
		if strings.Contains(n, name) || strings.Contains(name, n) || strings.HasPrefix(n, start) {
			near = append(near, n)
		}
	}
	return near
}

// goTest is a step that runs tests of packages (separated by spaces), with flags.
func goTest(packages, run string, flags ...string) Step {
	args := append([]string{"go", "test"}, strings.Fields(packages)...)
	return Step{Args: append(append(args, "-run", run, "-count=1", "-v", "-timeout=0"), flags...)}
}

// torchTest is goTest with libtorch linked in.
func torchTest(packages, run string, flags ...string) Step {
	s := goTest(packages, run, flags...)
	s.Args = slices.Insert(s.Args, 2, "-tags", "libtorch")
	s.Env = []string{"CGO_ENABLED=1", "OMP_WAIT_POLICY=PASSIVE", "GOWORK="}
	return s
}

// stoker is a step that runs the workbench: words are split at spaces, the arguments in more are not.
func stoker(words string, more ...string) Step {
	return Step{Args: append(append([]string{"bin/stoker"}, strings.Fields(words)...), more...)}
}

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
	scheduler := train("hops-scheduler", "pricing/hops-scheduler", 8000, 1, "arms")
	scheduler.Steps[0].Args = append(scheduler.Steps[0].Args, strings.Fields(zooScheduler)...)
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
		scheduler,
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
