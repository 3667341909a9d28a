package main

import (
	"os/exec"
	"strings"
	"testing"
)

// allowed lists, for each package that serving programs and learners stand on, what it may depend on beside the standard library
// and this module's packages listed with it.
var allowed = []struct {
	packages []string
	modules  []string // prefixes of import paths
}{
	{
		[]string{"./rng/...", "./nets", "./nets/native/...", "./envs", "./checkpoints/..."},
		[]string{"golang.org/x/sys/", "gonum.org/v1/gonum/"},
	},
	{[]string{"./agents", "./agents/maddpg", "./agents/spsa", "./agents/dqn", "./agents/reinforce", "./agents/rollout", "./envs/sim", "./envs/workflow", "./envs/sizing"}, []string{"golang.org/x/sys/", "gonum.org/v1/gonum/"}},
}

const module = "github.com/stoker-rl/stoker/"

// What serving programs import depends on the standard library, golang.org/x/sys and gonum alone.
func TestDependencies(t *testing.T) {
	for _, a := range allowed {
		for _, path := range deps(t, a.packages...) {
			if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") || strings.HasPrefix(path, module) {
				continue
			}
			ok := false
			for _, m := range a.modules {
				ok = ok || strings.HasPrefix(path, m)
			}
			if !ok {
				t.Errorf("%v depend on %s, want only %v beside the standard library", a.packages, path, a.modules)
			}
		}
	}
}

// Arrows point one way: main → eval, train → agents → nets, envs; tables and engines are imported above learners only; checkpoints are beside
// agents.
func TestArrows(t *testing.T) {
	for _, c := range []struct{ from, never []string }{
		{[]string{"./rng/..."}, []string{"nets", "envs", "agents", "checkpoints", "configs", "train", "eval", "cli"}},
		{[]string{"./nets", "./nets/native/..."}, []string{"envs", "agents", "checkpoints", "configs", "train", "eval", "cli"}},
		{[]string{"./envs/..."}, []string{"nets", "agents", "checkpoints", "configs", "train", "eval", "cli"}},
		{[]string{"./checkpoints/..."}, []string{"nets", "envs", "agents", "configs", "train", "eval", "cli"}},
		{[]string{"./agents", "./agents/maddpg", "./agents/spsa", "./agents/dqn", "./agents/reinforce", "./agents/replay", "./agents/rollout"}, []string{"nets/native", "nets/torch", "nets/gorgonia", "nets/engines", "checkpoints", "configs", "train", "eval", "cli"}},
		{[]string{"./configs"}, []string{"nets", "agents", "train", "eval", "cli", "catalog"}},
		{[]string{"./train"}, []string{"eval", "cli"}},
		{[]string{"./eval/..."}, []string{"cli"}},
	} {
		for _, path := range deps(t, c.from...) {
			for _, n := range c.never {
				if p := module + n; path == p || strings.HasPrefix(path, p+"/") {
					t.Errorf("%v import %s", c.from, path)
				}
			}
		}
	}
}

// deps lists the packages that the given ones depend on.
func deps(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Skipf("go list does not run here: %v", err)
	}
	return strings.Fields(string(out))
}
