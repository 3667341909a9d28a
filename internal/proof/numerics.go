package proof

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
