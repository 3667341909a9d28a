package ppo

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Against CleanRL's own script, in turn, on an idle machine:
//
//	go test ./agents/ppo -run Speed -long -v -peer 'python cleanrl/ppo.py --no-cuda'
var (
	peer   = flag.String("peer", "", "with -long: the command of CleanRL's ppo.py, which prints SPS after each update")
	window = flag.Duration("window", 15*time.Second, "how long the peer runs each time; ours runs a tenth of it")
)

// updateSteps are the environment steps between two updates, of both.
const updateSteps = 4 * 128

// TestSpeed compares steps per second, learning included.
func TestSpeed(t *testing.T) {
	if !*long || *peer == "" {
		t.Skip("wants -long and CleanRL's script: -peer COMMAND")
	}
	problem, c := classic.DefaultCartPole(), Default()
	plan := choicetest.Shipped(t, "../../configs/classic/cartpole-ppo.yaml", &problem, &c)
	step := choicetest.Loop(t, plan.Envs, updateSteps, func() (envs.Env, error) { return classic.NewCartPole(problem) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	var ours, theirs, ratios []float64
	for range 3 {
		n, began := 0, time.Now()
		for time.Since(began) < *window/10 {
			for range c.Rollout {
				step()
			}
			n += c.Rollout * plan.Envs
		}
		a, b := float64(n)/time.Since(began).Seconds(), cleanRLSpeed(t)
		ours, theirs, ratios = append(ours, a), append(theirs, b), append(ratios, a/b)
	}
	proof.Claim(t, proof.Row{
		Topic: "speed",
		Claim: "PPO on CartPole-v1 with CleanRL's settings, four environments: steps a second against CleanRL's ppo.py " +
			"on the same machine, in turn",
		Bound: "10×",
		Measured: fmt.Sprintf("%.1f× (ours %.0f, CleanRL %.0f steps/s; ratios of three turns %.1f)",
			stat.Mean(ratios, nil), ours, theirs, ratios),
		Holds:   stat.Mean(ratios, nil) >= 10,
		Command: "go test ./agents/ppo -run '^TestSpeed$' -long -v -peer 'python cleanrl/ppo.py --no-cuda'",
	})
}

// cleanRLSpeed runs the peer for the window. It prints SPS once an update: from the first such line to the last, so many
// updates have gone by. Times are taken here, as SPS counts from the beginning.
func cleanRLSpeed(t *testing.T) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *window)
	defer cancel()
	words := strings.Fields(*peer)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = t.TempDir() // it writes its runs there
	cmd.Env = append(cmd.Environ(), "PYTHONUNBUFFERED=1")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines := 0
	var first, last time.Time
	s := bufio.NewScanner(out)
	for s.Scan() {
		if strings.HasPrefix(s.Text(), "SPS: ") {
			last = time.Now()
			if lines == 0 {
				first = last
			}
			lines++
		}
	}
	_ = cmd.Wait() // it was ended by the window
	if lines < 10 {
		t.Fatalf("the peer printed %d lines of SPS in %v, want 10", lines, *window)
	}
	return float64(updateSteps*(lines-1)) / last.Sub(first).Seconds()
}
