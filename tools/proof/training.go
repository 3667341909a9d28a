package proof

import (
	"fmt"
	"path"
)

// Files of stoker eval that pages show, beside its table.
var evalFigures = []string{"table.md", "learning_curve.png", "over_time.png", "latency_cdf.png", "scatter.png"}

func training() []Proof {
	return []Proof{
		{
			Name: "main", Kind: Training, Subject: "learning", Minutes: 5,
			Claims: "The main job as the README has it, and five training seeds of it on 20 workload seeds that chose nothing.",
			Steps: []Step{
				stoker("train configs/sizing/main.yaml --seeds 1-5 --runs $OUT/runs"),
				{Args: stoker("eval $OUT/runs/sizing-s1 --out $OUT/first").Args, Stdout: "first.txt"},
				{Args: stoker("eval $OUT/runs/sizing-s* --seeds 5001-5020 --out $OUT").Args, Stdout: "five.txt"},
			},
			Keep: []string{"first.txt", "five.txt", "table.md", "frontier.png", "frontier_points.csv", "frontier_levels.csv",
				"learning_curve.png"},
			Short: []string{"sizing-main"},
		},
		{
			Name: "sizing", Kind: Training, Subject: "learning", Minutes: 30,
			Claims: "The paper's learner, three training seeds, against its baselines on 20 workload seeds.",
			Steps: []Step{
				stoker("train configs/sizing/attmf.yaml --seeds 1-3 --runs $OUT/runs"),
				stoker("eval $OUT/runs/sizing-attmf-s1 $OUT/runs/sizing-attmf-s2 $OUT/runs/sizing-attmf-s3 " +
					"fixed autoscaler random-search oracle --out $OUT"),
			},
			Keep:  append([]string{"scores.csv"}, evalFigures...),
			Short: []string{"sizing"},
		},
		{
			Name: "spread", Kind: Training, Subject: "learning", Minutes: 10,
			Claims: "MADDPG learns simple_spread by OpenAI's recipe, ten seeds of 25,000 episodes.",
			Steps:  []Step{goTest("./agents/maddpg", "Spread", "-long", "-episodes=25000", "-seeds=10")},
			Keep:   []string{"spread.svg"},
			Short:  []string{"spread"},
		},
		{
			Name: "reinforce", Kind: Training, Subject: "learning", Minutes: 1,
			Claims: "The policy gradient equals the analytic one on a bandit, and REINFORCE learns CartPole, five seeds.",
			Steps:  []Step{goTest("./agents/reinforce", "CartPole|Bandit|Variance", "-long")},
			Keep:   []string{"cartpole.csv", "cartpole.svg"},
			Short:  []string{"cartpole-reinforce"},
		},
		{
			Name: "dqn", Kind: Training, Subject: "learning", Minutes: 30,
			Claims: "DQN learns CartPole with CleanRL's settings, 20 seeds.",
			Steps:  []Step{goTest("./agents/dqn", "CartPole", "-long")},
			Keep:   []string{"cartpole.csv", "cartpole.svg"},
			Short:  []string{"cartpole-dqn"},
		},
		{
			Name: "ppo", Kind: Training, Subject: "learning", Minutes: 1,
			Claims: "PPO learns CartPole with CleanRL's settings and comes within 2 % of Riccati's control, five seeds each.",
			Steps:  []Step{goTest("./agents/ppo", "CartPole|LQR", "-long")},
			Keep:   []string{"cartpole.csv", "cartpole.svg", "lqr.csv", "lqr.svg"},
			Short:  []string{"cartpole-ppo", "lqr-ppo"},
		},
		{
			Name: "lqr", Kind: Training, Subject: "learning", Minutes: 3,
			Claims: "DDPG comes within its bound of Riccati's optimal control, five seeds.",
			Steps:  []Step{goTest("./agents/maddpg", "LQR", "-long")},
			Keep:   []string{"lqr.svg"},
			Short:  []string{"lqr"},
		},
		softActorCritic(),
		closedLoop(),
		deepRMPolicy(),
		{
			Name: "gnnpolicy", Kind: Training, Subject: "learning", Minutes: 30,
			Claims: "The policy over graphs, three training seeds, against rules and planners on 50 workload seeds.",
			Steps: append(trainings(3, "runs/gnn-placement", "train configs/placement/gnn-twin.yaml"),
				stoker("eval "+gnnRuns+" --out $OUT"),
				stoker("eval "+gnnRuns+" --out $OUT/planners", "--set", "eval.baselines=[sjf-nodes, lookahead, "+
					"{name: lookahead, futures: 1}, {name: lookahead, futures: 4}]"),
				stoker("plot "+gnnRuns+" --separate --metric eval/mean_reward --name curves --out $OUT",
					"--title", "Return in evaluation, each seed on its own workloads"),
			),
			Keep:  []string{"table.md", "curves.png", "learning_curve.png", "planners/table.md"},
			Short: []string{"gnn-twin"},
		},
		hopsLearned(),
		learnedVariants(),
	}
}

// softActorCritic trains SAC on a problem of known optimum, on one with published returns, and on sizing beside
// attention mean-field MADDPG with the same budget. Workload seeds from 5001 on played no part in choosing settings.
func softActorCritic() Proof {
	p := Proof{
		Name: "sac", Kind: Training, Subject: "learning", Minutes: 40,
		Claims: "SAC against Riccati's control, on Pendulum-v1, and beside attention mean-field MADDPG on sizing.",
		Keep:   []string{"*/table.md", "*/learning_curve.png"},
		Short:  []string{"lqr-sac", "pendulum-sac", "sizing-sac"},
	}
	const runs = " --runs $OUT/runs"
	names := func(name string, seeds int) string {
		all := ""
		for seed := 1; seed <= seeds; seed++ {
			all += fmt.Sprintf("$OUT/runs/%s-s%d ", name, seed)
		}
		return all
	}
	p.Steps = append(p.Steps,
		stoker("train configs/classic/lqr-sac.yaml --seeds 1-5 --name lqr"+runs),
		stoker("train configs/classic/pendulum-sac.yaml --seeds 1-5 --name pendulum"+runs),
		stoker("train configs/sizing/sac.yaml --seeds 1-3 --name sizing"+runs),
		stoker("train configs/sizing/attmf.yaml --seeds 1-3 --name attmf"+runs),
		stoker("eval "+names("lqr", 5)+"riccati random --seeds 5001-5400 --out $OUT/lqr"),
		stoker("eval "+names("pendulum", 5)+"random --seeds 5001-5100 --out $OUT/pendulum"),
		stoker("eval "+names("sizing", 3)+names("attmf", 3)+
			"fixed autoscaler random-search oracle random --seeds 5001-5020 --out $OUT/sizing"),
	)
	return p
}

// closedLoop trains Firm and SIMPPO where their runs are missing, evaluates each where it learned, and takes its policy,
// which opens anywhere, to a workflow with one function more. Firm decides hardware alone, so it has a world of its own.
func closedLoop() Proof {
	p := Proof{
		Name: "closedloop", Kind: Training, Subject: "learning", Minutes: 5,
		Claims: "Firm and SIMPPO at 10 to 30 closed-loop users, two training seeds each, and in a workflow not trained on.",
		Keep:   []string{"*/table.md", "firm/learning_curve.png", "simppo/learning_curve.png"},
		Short:  []string{"faasconf-firm", "faasconf-simppo"},
	}
	for _, name := range []string{"firm", "simppo"} {
		at := "runs/closedloop/" + name
		eval := "eval " + at + "-s1 " + at + "-s2 fixed random --seeds 1-20 --out $OUT/" + name
		p.Steps = append(p.Steps, trainings(2, at, "train configs/faasconf/"+name+".yaml --runs runs/closedloop --set train.steps=20000")...)
		p.Steps = append(p.Steps, stoker(eval), stoker(eval+"-branch --set env.workflow=branch"))
	}
	return p
}

const gnnRuns = "runs/gnn-placement-s1 runs/gnn-placement-s2 runs/gnn-placement-s3"

// trainings have a command train the seeds from 1 on where their runs, at-s1 and so on, are missing.
func trainings(seeds int, at, command string) (all []Step) {
	for seed := 1; seed <= seeds; seed++ {
		run := fmt.Sprintf("%s-s%d", at, seed)
		all = append(all, unless(run, stoker(fmt.Sprintf("%s --seed %d --name %s", command, seed, path.Base(run)))))
	}
	return all
}

// unless has a step train a run only where the run's folder does not exist.
func unless(path string, s Step) Step {
	s.Unless = path
	return s
}

// deepRMPolicy trains each configuration where its run is missing, and compares all of them with the rules.
func deepRMPolicy() Proof {
	p := Proof{
		Name: "deeprmpolicy", Kind: Training, Subject: "learning", Minutes: 600,
		Claims: "DeepRM's policy, learned in both readings of its action, against five rules at ten loads.",
		Keep:   []string{"table.md", "loads.svg", "curves.svg"},
		Short:  []string{"deeprm-discount", "deeprm-reinforce", "deeprm-book", "deeprm-dqn"},
	}
	for _, c := range []string{"deeprm-discount", "deeprm-reinforce", "deeprm-book"} {
		p.Steps = append(p.Steps, trainings(3, "runs/"+c, "train configs/placement/"+c+".yaml")...)
	}
	p.Steps = append(p.Steps, trainings(1, "runs/deeprm-dqn", "train configs/placement/deeprm-dqn.yaml")...)
	p.Steps = append(p.Steps, goTest("./eval/deeprm", "Compare|HeldBack", "-runs=../../runs"))
	return p
}

// zooScheduler are the values with which zoo:hops-scheduler was trained; a search has found others since.
const zooScheduler = "--set agent.rate=5e-4 --set agent.gamma=0.9 --set agent.epsilon_share=0.5"

// hopsLearned trains pricers and schedulers whose runs are missing, evaluates them under both loads, and compares the
// zoo's policies with their baselines.
func hopsLearned() Proof {
	p := Proof{
		Name: "hopslearned", Kind: Training, Subject: "learning", Minutes: 240,
		Claims: "The learned pricer and scheduler for HOPS' world against PBA, the best fixed prices and ARMS.",
		Keep: []string{
			"*/table.md", "generated/intervals.png", "generated/learning_curve.png", "generated/over_time.png",
			"paper/over_time.png", "slots/learning_curve.png",
		},
		Short: []string{"hops-pricer", "hops-pba", "hops-scheduler", "zoo-pricing"},
	}
	train := func(name, config, flags string) {
		p.Steps = append(p.Steps, unless("runs/"+name,
			stoker("train configs/pricing/"+config+".yaml --name "+name+" "+flags)))
	}
	for seed := 1; seed <= 3; seed++ {
		s := fmt.Sprintf("--seed %d ", seed)
		train(fmt.Sprintf("hops-pricer-s%d", seed), "hops-pricer", s)
		train(fmt.Sprintf("hops-pba-s%d", seed), "hops-pba", s)
		for _, windows := range []int{200, 4000} { // one copy of the environment, four updates after each window
			train(fmt.Sprintf("budget-%d-s%d", windows, seed), "hops-pricer", s+fmt.Sprintf(
				"--set train.steps=%d --set train.envs=1 --set train.log_every=40 --set train.evaluate.every=%d "+
					"--set agent.learning_starts=40 --set agent.batch=40 --set agent.update_every=1 "+
					"--set agent.gradient_steps=4", windows, windows/2))
		}
		train(fmt.Sprintf("hops-scheduler-s%d", seed), "hops-scheduler", s+zooScheduler)
	}
	train("paper-s1", "hops-pricer",
		"--seed 1 --set env.profile=paper --set train.steps=20000 --set agent.learning_starts=2000")

	compare := func(folder, contestants string, sets ...string) {
		var flags []string
		for _, s := range sets {
			flags = append(flags, "--set", s)
		}
		p.Steps = append(p.Steps, stoker("eval "+contestants+" --seeds 101-120 --out $OUT/"+folder, flags...))
	}
	seeds := func(name string) string { return fmt.Sprintf("runs/%s-s1 runs/%[1]s-s2 runs/%[1]s-s3 ", name) }
	plateau := seeds("hops-pba")
	shipped := "runs/hops-pricer-s1 " + seeds("budget-200") + seeds("budget-4000") + plateau
	const (
		near = "{name: pba, objective: profit, prices: {unit: 35568}}, " +
			"{name: pba, objective: profit, prices: {unit: 35568, step: 1}}, " +
			"{name: spss, prices: [1.38, 1.38, 1.45], baselines: [8, 18, 30]}"
		baselines, published = "eval.baselines=[" + near + "]", "eval.baselines=[" + near + ", {name: spss}]"
		noise                = "env.demand.noise=0.3"
		azureDay, allHours   = "env.demand.source=workload", "eval.split=all"
	)
	compare("generated", shipped, noise, published)
	compare("azure", shipped, azureDay, allHours, published)
	compare("method", seeds("hops-pricer")+plateau, noise, baselines)
	compare("method-azure", seeds("hops-pricer")+plateau, azureDay, allHours, baselines)
	compare("slots", seeds("hops-scheduler")+"arms")
	compare("slots-azure", seeds("hops-scheduler")+"arms", azureDay, allHours)
	compare("slots-shipped", "runs/hops-scheduler-s1 arms")
	compare("slots-shipped-azure", "runs/hops-scheduler-s1 arms", azureDay, allHours)
	compare("counts", "arms --config configs/pricing/hops-scheduler.yaml", "env.acts=counts")
	compare("paper", "runs/paper-s1", "eval.baselines=[{name: pba, objective: profit}, {name: spss}]")
	p.Steps = append(p.Steps, goTest("./eval/shipped", "Shipped|Verdicts", "-long"))
	return p
}

// learnedVariants trains policies that configure applications and judges them on 500 applications that are not seen in
// training: by the model, beside the exact plan, and where requests are served with cold starts, beside the exact plan
// with margins. There linear is what a search finds with as many episodes as a training has; by the model the numbers
// that come with it are as good as those that a search finds.
func learnedVariants() Proof {
	const (
		unseen = " --seeds 5000-5499 --set env.first=5000 --set env.apps=500"
		exact  = unseen + " --set env.ideal=exact"
		runs   = " --runs $OUT/runs"
		at     = "$OUT/runs/variants-"
		served = "train configs/variants/served-reinforce.yaml --seeds 1-3 --init-from " + at + "each-s1"
	)
	seeds := func(name string) string { return at + name + "-s1 " + at + name + "-s2 " + at + name + "-s3 " }
	train := func(name string) Step {
		return stoker("train configs/variants/" + name + ".yaml --seeds 1-3" + runs)
	}
	margins := "eval.baselines=[{name: exact, margin: 0.7}, {name: exact, margin: 0.6}, {name: exact, margin: 0.5}, " +
		"{name: exact, margin: 0.4}, {name: exact, margin: 0.35}, {name: exact, margin: 0.3}, {name: exact, margin: 0.2}, " +
		"{name: linear, file: $OUT/linear-served.json}, exact]"
	return Proof{
		Name: "variants", Kind: Training, Subject: "learning", Minutes: 45,
		Claims: "Policies that choose variants and memory, on 500 applications not seen in training, beside exact plans.",
		Steps: []Step{
			train("each-reinforce"), train("each-ppo"), train("each-dqn"), train("once-attmf"),
			stoker("search linear configs/variants/served-reinforce.yaml --evaluations 15000 --out $OUT/linear-served.json"),
			stoker(served + runs),
			stoker("eval "+seeds("each")+"--out $OUT/each"+exact, "--set",
				"eval.baselines=[exact, prcp, bcr-max, bcr-slope, linear, random]"),
			stoker("eval " + seeds("ppo") + seeds("dqn") + "--out $OUT/flat" + exact),
			stoker("eval " + seeds("once") + "--out $OUT/once" + exact),
			stoker("eval "+seeds("served")+"--out $OUT/served"+unseen, "--set", margins),
		},
		Keep:  []string{"*/table.md"},
		Short: []string{"variants-each", "variants-once", "variants-served"},
	}
}
