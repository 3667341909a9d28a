package dqn

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Against CleanRL's own script, in turn (with real-time priority where the machine is not idle):
//
//	go test ./agents/dqn -run Speed -long -v -peer 'python cleanrl/dqn.py --no-cuda'
var (
	peer   = flag.String("peer", "", "with -long: the command of CleanRL's dqn.py, which prints SPS and global_step")
	window = flag.Duration("window", 10*time.Second, "how long the peer runs each time; ours runs a tenth of it")
)

// TestSpeed compares steps per second, learning included: of both past the first 10,000 steps, in which nothing is
// learned.
func TestSpeed(t *testing.T) {
	if !*long || *peer == "" {
		t.Skip("wants -long and CleanRL's script: -peer COMMAND")
	}
	var ours, theirs, ratios []float64
	step := loop(t)
	for range 3 {
		n, began := 0, time.Now()
		for time.Since(began) < *window/10 {
			for range 100 {
				step()
			}
			n += 100
		}
		a, b := float64(n)/time.Since(began).Seconds(), cleanRLSpeed(t)
		ours, theirs, ratios = append(ours, a), append(theirs, b), append(ratios, a/b)
	}
	proof.Claim(t, proof.Row{
		Topic: "speed",
		Claim: "DQN on CartPole-v1 with CleanRL's settings, one environment: steps a second against CleanRL's dqn.py on the same machine, in turn",
		Bound: "10×",
		Measured: fmt.Sprintf("%.1f× (ours %.0f, CleanRL %.0f steps/s; ratios of three turns %.1f)", stat.Mean(ratios, nil),
			ours, theirs, ratios),
		Holds:   stat.Mean(ratios, nil) >= 10,
		Command: "go test ./agents/dqn -run '^TestSpeed$' -long -v -peer 'python cleanrl/dqn.py --no-cuda'",
	})
}

var spsLine = regexp.MustCompile(`^SPS: (\d+)$`)

// cleanRLSpeed runs the peer for the window. It prints SPS, the steps since its beginning over the time since, after
// every hundredth step of learning, the first at step 10,100: from the first such line to the last, so many hundred
// steps have gone by.
func cleanRLSpeed(t *testing.T) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *window)
	defer cancel()
	words := strings.Fields(*peer)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	lines, first, last := 0, 0.0, 0.0
	s := bufio.NewScanner(out)
	for s.Scan() {
		if m := spsLine.FindStringSubmatch(s.Text()); m != nil {
			sps, _ := strconv.ParseFloat(m[1], 64)
			lines++
			at := float64(10_000+100*lines) / sps
			if lines == 1 {
				first = at
			}
			last = at
		}
	}
	_ = cmd.Wait() // it was ended by the window
	if lines < 20 {
		t.Fatalf("the peer printed %d lines of SPS in %v, want 20", lines, *window)
	}
	return float64(100*(lines-1)) / (last - first)
}
