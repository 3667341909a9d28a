//go:build farm

package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// told passes on the first match.
type told struct {
	bytes.Buffer
	mu    sync.Mutex
	what  *regexp.Regexp
	lines chan []string
}

func (o *told) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.Buffer.Write(b)
	if m := o.what.FindStringSubmatch(o.String()); m != nil && o.lines != nil {
		o.lines <- m
		o.lines = nil
	}
	return n, err
}

// A sweep that workers train leaves the files of one that is trained at home, and so does a study with its final.
func TestSweepByWorkers(t *testing.T) {
	sweep := func(flags ...string) []string {
		return slices.Concat([]string{"sweep", config(t, brief), "--grid", "agent.actor_rate=1e-4,1e-3", "--name", "x"}, flags, []string{"--runs"})
	}
	byWorkers(t, "4\n", nil, sweep("--seeds", "1-2"), "x/sweep.json", "x/leaderboard.csv", "x/actor_rate-1e-3-s2/metrics.jsonl",
		"x/actor_rate-1e-3-s2/config.yaml", "x/actor_rate-1e-4-s1/checkpoints/latest")
	byWorkers(t, "2\n", nil, sweep("--halving", "10", "--factor", "2", "--final", "1x2"), "x/sweep.json", "x/leaderboard.json",
		"x/actor_rate-1e-3-s1/metrics.jsonl", "x/actor_rate-1e-3-s1/checkpoints/latest", "x/actor_rate-1e-4-s1/checkpoints/best",
		"x/final/sweep.json", "x/final/final.json")
}

// An evaluation that workers play leaves the files of one at home.
func TestEvalByWorkers(t *testing.T) {
	byWorkers(t, "", nil, []string{"eval", trained(t), "riccati", "random", "--seeds", "1-9", "--out"}, "eval.json", "scores.csv", "steps.csv",
		"report.html")
}

// A run whose rounds workers play leaves the files of one that plays them itself.
func TestRolloutsByWorkers(t *testing.T) {
	path, text := filepath.Join(t.TempDir(), "rounds.yaml"), "name: x\nenv: {id: stoker/CartPole-v1}\nagent: {name: reinforce, rounds: true, hidden: [4]}\n"+
		"train: {steps: 2000, envs: 4, log_every: 100, evaluate: {every: 500, episodes: 2}, checkpoint: {every: 500}}\n"
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	byWorkers(t, "", []string{"--rollouts", "3"}, []string{"train", path, "--name", "x", "--runs"}, "x/metrics.jsonl", "x/config.yaml",
		"x/checkpoints/latest", "x/checkpoints/best")
}

// byWorkers gives a command that ends with a folder at home, and with more flags to two workers, and compares what it leaves
// there. Before workers join, the metrics tell how many units are to come, where the command knows.
func byWorkers(t *testing.T, units string, more, command []string, files ...string) {
	t.Helper()
	token, home, away := filepath.Join(t.TempDir(), "token"), t.TempDir(), t.TempDir()
	if code, _, errs := stoker(append(slices.Clone(command), home)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	out := &told{what: regexp.MustCompile(`(?s)--join '([^']+)'.*metrics: (\S+)`), lines: make(chan []string, 1)}
	joined := out.lines
	var all sync.WaitGroup
	all.Go(func() {
		root := newRoot(shipped)
		root.SetArgs(append(append(slices.Clone(command), away), append(more, "--listen", "127.0.0.1:0", "--token-file", token, "--metrics", "127.0.0.1:0")...))
		root.SetOut(out)
		root.SetErr(out)
		if code := exitCode(root, root.ExecuteContext(t.Context())); code != exitDone {
			t.Errorf("the coordinator: exit %d: %s", code, out.String())
			close(joined)
		}
	})
	if m := <-joined; m != nil {
		at := m[1]
		answer, err := http.Get(m[2])
		must.Do(t, err)
		defer answer.Body.Close()
		body := must.Get(io.ReadAll(answer.Body))(t)
		if !strings.Contains(string(body), `stoker_farm_units{state="queued"} `+units) {
			t.Errorf("the metrics are\n%s", body)
		}
		// The other worker may have done all before one joins.
		late := regexp.MustCompile(`join nats://|the coordinator is away`)
		var worked atomic.Int64
		for range 2 {
			all.Go(func() {
				code, _, errs := stoker("worker", "--join", at, "--token-file", token, "--patience", "10s")
				switch {
				case code == exitDone:
					worked.Add(1)
				case !late.MatchString(errs):
					t.Errorf("a worker: exit %d: %s", code, errs)
				}
			})
		}
		defer func() {
			if worked.Load() == 0 {
				t.Error("no worker came to the study's end")
			}
		}()
	}
	all.Wait()
	for _, name := range files {
		got, want := must.Get(os.ReadFile(filepath.Join(away, name)))(t), must.Get(os.ReadFile(filepath.Join(home, name)))(t)
		if !bytes.Equal(bytes.ReplaceAll(got, []byte(away), []byte(home)), want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if strings.Contains(out.String(), string(bytes.TrimSpace(must.Get(os.ReadFile(token))(t)))) {
		t.Error("the token is printed")
	}
}
