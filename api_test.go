package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/golden"
	"github.com/stoker-rl/stoker/internal/must"
)

// public are the packages that a program of one's own may rest on, by what it does with them. Everything else that is
// not under an internal folder is Stoker's own: it may change without a word.
var public = []struct {
	to       string // what a user does
	packages []string
}{
	{"extend the workbench, run it from Go", []string{"workbench", "catalog", "configs", "bounds", "rng", "train", "cli"}},
	{"write, wrap and step environments", []string{"envs", "envs/state", "envs/workload", "envs/workflow", "envs/perfmodel",
		"envs/classic", "envs/deeprm", "envs/placement", "envs/pricing", "envs/sizing", "envs/steps", "envs/variants", "envs/envtest"}},
	{"write and run learners", []string{"agents", "agents/actor", "agents/rollout", "agents/replay", "agents/choice", "agents/graphs",
		"agents/normalise", "agents/offpolicy", "agents/online", "agents/safe", "nets", "nets/native", "nets/engines"}},
	{"train with the learners that come with Stoker", []string{"agents/crossentropy", "agents/dqn", "agents/firm", "agents/maddpg",
		"agents/ppo", "agents/reinforce", "agents/sac", "agents/simppo", "agents/spsa"}},
	{"compare with published heuristics", []string{"agents/baselines/classic", "agents/baselines/deeprm", "agents/baselines/placement",
		"agents/baselines/pricing", "agents/baselines/random", "agents/baselines/sizing", "agents/baselines/steps",
		"agents/baselines/variants"}},
	{"evaluate, and redo a paper's figures", []string{"eval", "eval/stats", "eval/suite", "eval/report"}},
	{"use and serve a trained policy", []string{"policy", "policy/onnx", "checkpoints/bundle", "serving"}},
}

// docLink is a name in brackets, as documentation links to it.
var docLink = regexp.MustCompile(`\[([\w.]+)\]`)

// docs/api.md lists the public packages, each with the first sentence of its documentation, and Stoker's own by name.
func TestAPI(t *testing.T) {
	sentence := map[string]string{}
	for _, line := range strings.Split(golist(t, "-f", "{{.ImportPath}}|{{.Name}}|{{.Doc}}", "./..."), "\n") {
		path, rest, _ := strings.Cut(line, "|")
		name, doc, _ := strings.Cut(rest, "|")
		rel := strings.TrimPrefix(path, module+"/")
		if path == "" || path == module || within(rel, []string{"examples", "tools"}) || slices.Contains(strings.Split(rel, "/"), "internal") ||
			name == "main" {
			continue
		}
		sentence[rel] = docLink.ReplaceAllString(strings.TrimPrefix(doc, "Package "+name+" "), "$1")
	}
	var b strings.Builder
	b.WriteString("# Packages for programs of your own\n\n" +
		"`go doc ./PACKAGE` in a checkout, or `go doc " + module + "/PACKAGE` in a module that requires Stoker, has the whole text of a package.\n" +
		"`go test . -run API -update` writes this page from the table in [api_test.go](../api_test.go) and from the packages' own words.\n")
	for _, group := range public {
		fmt.Fprintf(&b, "\n## To %s\n\n| package | what it is |\n|---|---|\n", group.to)
		for _, p := range group.packages {
			doc, ok := sentence[p]
			if !ok {
				t.Errorf("package %s is in the table of public packages, and there is none, or it is in the table twice", p)
			}
			if doc == "" || strings.HasPrefix(doc, "Package ") {
				t.Errorf("the documentation of package %s begins %q, want \"Package NAME does …\"", p, doc)
			}
			delete(sentence, p)
			fmt.Fprintf(&b, "| [%s](../%s) | %s |\n", p, p, strings.ReplaceAll(doc, "|", `\|`))
		}
	}
	b.WriteString("\n## Stoker's own\n\nPrograms of your own can import these packages, too. They may change from one version to the next without a word in " +
		"[CHANGELOG.md](../CHANGELOG.md).\n\n")
	var own []string
	for p := range sentence {
		own = append(own, "`"+p+"`")
	}
	slices.Sort(own)
	b.WriteString(strings.Join(own, ",\n") + ".\n")
	if golden.Updating() {
		must.Do(t, os.WriteFile(filepath.Join("docs", "api.md"), []byte(b.String()), 0o644))
		return
	}
	text := must.Get(os.ReadFile(filepath.Join("docs", "api.md")))(t)
	if string(text) != b.String() {
		t.Error("docs/api.md is not what the packages say: go test . -run API -update")
	}
}
