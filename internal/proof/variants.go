package proof

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
	margins := "eval.rivals=[{name: exact, margin: 0.7}, {name: exact, margin: 0.6}, {name: exact, margin: 0.5}, " +
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
				"eval.rivals=[exact, prcp, bcr-max, bcr-slope, linear, random]"),
			stoker("eval " + seeds("ppo") + seeds("dqn") + "--out $OUT/flat" + exact),
			stoker("eval " + seeds("once") + "--out $OUT/once" + exact),
			stoker("eval "+seeds("served")+"--out $OUT/served"+unseen, "--set", margins),
		},
		Keep:  []string{"*/table.md"},
		Short: []string{"variants-each", "variants-once", "variants-served"},
	}
}
