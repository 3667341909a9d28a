package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/workbench"
)

// What stoker eval writes is read, and its verdicts and scores are printed.
func TestRun(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "eval")
	if code := workbench.Run([]string{"eval", "sjf", "fcfs", "--config", "configs/placement/deeprm-reinforce.yaml", "--seeds",
		"1-8", "--set", "eval.resamples=200", "--set", "eval.metrics=[slowdown]", "--out", folder}); code != 0 {
		t.Fatalf("stoker eval ended with exit code %d", code)
	}
	var out strings.Builder
	must.Do(t, run(&out, folder))
	for _, want := range []string{
		"stoker/DeepRM-v1: 2 policies on 8 workload seeds\n", "sjf against fcfs by slowdown: better",
		"slowdown of sjf: mean ", " of 8 episodes\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(folder, "scores.csv"), []byte("policy,training_seed,workload_seed,metric,value\n"+
		"sjf,0,1,slowdown,fast\n"), 0o666))
	if err := run(&out, folder); err == nil || !strings.Contains(err.Error(), "scores.csv:2") {
		t.Errorf("a score that is no number gives %v, want the line", err)
	}
}
