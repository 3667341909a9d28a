package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
)

// policyVar tells a copy of this test program to be a policy of --policy: its gain, or "out".
const policyVar = "STOKER_TEST_POLICY"

// actAs is a command that steers the regulator by a gain.
func actAs(gain string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	in.Scan()
	fmt.Println(`{"stoker":"policy/1"}`)
	for in.Scan() {
		var r struct {
			ID       int
			Episodes []struct {
				Observation map[string]struct{ Observation [][]float64 }
			}
		}
		if json.Unmarshal(in.Bytes(), &r) != nil {
			os.Exit(1)
		}
		var all []string
		for _, e := range r.Episodes {
			u := 99.0
			if gain != "out" {
				u = min(max(-0.5*e.Observation["controller"].Observation[0][0], -1), 1)
			}
			all = append(all, fmt.Sprintf(`{"controller":[[%g]]}`, u))
		}
		fmt.Printf(`{"id":%d,"actions":[%s]}`+"\n", r.ID, strings.Join(all, ","))
	}
}

// A bundle scores as the run that it was exported from, and a command beside it is learned elsewhere; groups join
// training seeds; what fails is out. Nothing of a run or a configuration starts a command.
func TestPolicies(t *testing.T) {
	run := trained(t)
	t.Setenv(policyVar, "0.5")
	dir := t.TempDir()
	if code, _, errs := stoker("eval", run); code != exitDone {
		t.Fatal(errs)
	}
	if code, _, errs := stoker("export", run, "--out", dir); code != exitDone {
		t.Fatal(errs)
	}
	files := must.Get(filepath.Glob(filepath.Join(dir, "*.stoker")))(t)
	if len(files) != 1 {
		t.Fatalf("exported %v", files)
	}
	command := "cmd:'" + os.Args[0] + "'"
	of := func(s *eval.Summary, name string) eval.PolicyResult {
		i := slices.IndexFunc(s.Policies, func(p eval.PolicyResult) bool { return p.Name == name })
		if i < 0 {
			t.Fatalf("there is no %s", name)
		}
		return s.Policies[i]
	}
	out := filepath.Join(dir, "a")
	code, text, errs := stoker("eval", run, "--policy", "bundle="+files[0], "--policy", "mine="+command, "--policy", "other="+command,
		"--group", "method=mine,other", "--policy-timeout", "1h", "--out", out)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "a note on training", text, "training budget that is not", "scope of the verdicts on bundle: this checkpoint")
	s := must.Get(eval.ReadSummary(out))(t)
	if a, b := s.Policies[0].Metrics["return"], of(s, "bundle").Metrics["return"]; a.Mean != b.Mean || a.IQM != b.IQM {
		t.Errorf("the run has return %v, its bundle %v", a, b)
	}
	if p := of(s, "method"); len(p.TrainingSeeds) != 2 || !p.Foreign || p.Kind != "learned" {
		t.Errorf("the group is %+v", p)
	}
	page := string(must.Get(os.ReadFile(filepath.Join(out, eval.ReportFile)))(t))
	contains(t, "the page", page, "its training budget is not known")
	t.Setenv(policyVar, "out")
	out = filepath.Join(dir, "b")
	code, text, errs = stoker("eval", "--config", filepath.Join(run, "config.yaml"), "--policy", "mine="+command, "--policy", "bundle="+files[0],
		"--policy-timeout", "1h", "--out", out)
	contains(t, "a policy that is out", strings.Join(strings.Fields(text), " "), "mine is out, from workload seed 1, step 0 on: ", "component 0 is 99")
	if s := must.Get(eval.ReadSummary(out))(t); code != exitDone || len(s.Out) != 1 || len(s.Policies) != 1 {
		t.Errorf("exit %d, %s; out: %+v, policies %v", code, errs, s.Out, s.Policies)
	}
	page = string(must.Get(os.ReadFile(filepath.Join(out, eval.ReportFile)))(t))
	contains(t, "the page", page, "<b>mine</b> is out, from workload seed 1")
}

// What --policy can't mean is refused before anything is played.
func TestPoliciesRefused(t *testing.T) {
	file := config(t, brief)
	for _, c := range []struct{ args, want string }{
		{"", "what to compare, a run, checkpoint or policy, is missing"},
		{"fixed --bind a=b", "--bind is of policies of --policy, and there is none"},
		{"--policy x.onnx", `--policy: "x.onnx", want NAME=WHAT`},
		{"--policy a=cmd:x", "give a configuration with --config"},
		{"--policy a=cmd:x --policy a=cmd:y --config " + file, "a is named twice"},
		{"--policy a=cmd:x --group m=b --config " + file, `--group: "m=b", want NAME, or NAME=A,B of the policies a`},
		{"--policy a=cmd:x --policy-timeout 0s --config " + file, "want a time above 0"},
		{"--policy a=x.zip --config " + file, "policy a: x.zip: want a bundle"},
		{"--policy a=none.stoker --config " + file, "none.stoker"},
		{"--policy a=none.onnx --config " + file, "none.onnx"},
		{"--policy a=http://x --config " + file, "want http://HOST/v2/models/NAME"},
	} {
		code, _, errs := stoker(append([]string{"eval", "--out", filepath.Join(t.TempDir(), "o")}, fields(c.args)...)...)
		if code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %s, want %q", c.args, code, errs, c.want)
		}
	}
	if code, out, _ := stoker("__complete", "eval", "--policy", "a="); code != exitDone || !strings.Contains(out, "a=cmd:") {
		t.Errorf("completion: %d, %s", code, out)
	}
}
