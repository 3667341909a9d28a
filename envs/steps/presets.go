package steps

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// Preset returns a workflow by name: chain, three steps in a row, or diamond, a fork and a join.
func Preset(name string) (App, error) {
	step := func(name string, tasks int, a float64, objects int) StepConfig {
		return StepConfig{Name: name, Tasks: tasks, Law: Law{A: a, B: 0.05, Fixed: 0.1}, Download: Transfer{objects, 4},
			Upload: Transfer{objects, 2}}
	}
	switch name {
	case "chain":
		return App{Name: name, Workflow: workflow.New(name, workflow.Chain("split", "detect", "merge")),
			Steps: []StepConfig{step("split", 4, 3, 1), step("detect", 64, 1.5, 64), step("merge", 2, 6, 64)}}, nil
	case "diamond":
		many := step("train", 24, 5, 24)
		many.Multicore, many.Law = true, Law{A: 5, B: 1, C: 0.4, Fixed: 0.2}
		return App{Name: name, Workflow: workflow.New(name, workflow.Fork("read", "train", "check"),
			workflow.Join("report", "train", "check")),
			Steps: []StepConfig{step("read", 8, 2, 8), many, step("check", 16, 2, 16), step("report", 1, 4, 1)}}, nil
	}
	return App{}, fmt.Errorf("there is no workflow %q, want chain or diamond", name)
}
