package proof

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
			Steps:  []Step{goTest("./internal/fuzzed", "Readers", "-long")},
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
