package placement

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "run the proofs that take minutes")

// spreading are the rules with the amount spread.
var spreading = []rule{
	{"fcfs-nodes, spread", func(e envs.Env) (envs.Policy, error) { return NewFCFS(FCFSConfig{Amount: Spread}, e) }},
	{"sjf-nodes, spread", func(e envs.Env) (envs.Policy, error) { return NewSJF(SJFConfig{Amount: Spread}, e) }},
	{"packer-nodes, spread", func(e envs.Env) (envs.Policy, error) {
		return NewPacker(PackerConfig{Amount: Spread, Warm: true}, e)
	}},
	{"tetris, spread", func(e envs.Env) (envs.Policy, error) {
		c := DefaultTetris()
		c.Amount = Spread
		return NewTetris(c, e)
	}},
}

// sweepQuantities are the table's quantities, by the environment's names.
var sweepQuantities = []string{"slowdown", "utilisation", "cost", "cold share", "violations", "dropped", "efficiency",
	"evictions", "finished", "return"}

// sweepLoads are the ten ticks of the paper's axis.
var sweepLoads = []float64{0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9}

// sweep plays episodes under a rule and returns the mean and the standard error of each quantity.
func sweep(t *testing.T, c placement.Config, r rule, episodes int) (mean, off []float64) {
	t.Helper()
	w := newWorld(t, c, r)
	mean, off = make([]float64, len(sweepQuantities)), make([]float64, len(sweepQuantities))
	for n := range episodes {
		e := w.episode(envs.EpisodeSeed(2026, 0, uint64(n)), nil)
		if w.out.Truncated {
			t.Errorf("%s at load %g, episode %d was cut", r.name, c.Load, n)
		}
		for i, name := range sweepQuantities {
			x := e.Return
			if name != "return" {
				k := must.Get(w.env.Spec().InfoIndex(name))(t)
				x = e.Info[k]
			}
			// Welford's online mean and variance.
			d := x - mean[i]
			mean[i] += d / float64(n+1)
			off[i] += d * (x - mean[i])
		}
	}
	for i := range off {
		off[i] = math.Sqrt(off[i] / float64(episodes-1) / float64(episodes))
	}
	return mean, off
}

// All rules at ten loads from 0.1 to 1.9, in steady state: slowdown and utilisation rise with the load under every
// rule.
func TestNodesSweep(t *testing.T) {
	episodes := 4
	loads := []float64{0.1, 0.9, 1.9}
	if *long {
		episodes, loads = 60, sweepLoads
	}
	all := slices.Concat(rules, spreading)
	rows := [][]string{{"workload", "load", "policy", "quantity", "mean", "error", "episodes"}}
	slowdown := make([][]float64, len(all))
	falls := make([][]string, 2) // of slowdown and of utilisation
	for p, r := range all {
		last := make([]float64, 2)
		for _, load := range loads {
			c := placement.Default()
			c.Load = load
			mean, off := sweep(t, c, r, episodes)
			proof.Log(t, "%s at load %g: %.10g", r.name, load, mean)
			for i, name := range sweepQuantities {
				number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
				rows = append(rows, []string{c.Workload, number(load), r.name, name, number(mean[i]), number(off[i]),
					strconv.Itoa(episodes)})
			}
			slowdown[p] = append(slowdown[p], mean[0])
			for i := range last {
				if mean[i] <= last[i] {
					falls[i] = append(falls[i], fmt.Sprintf("%s at load %g (%.3f after %.3f)", r.name, load, mean[i],
						last[i]))
				}
				last[i] = mean[i]
			}
		}
	}
	for i, name := range sweepQuantities[:2] {
		measured := "none falls"
		if len(falls[i]) > 0 {
			measured = "falls: " + strings.Join(falls[i], ", ")
		}
		proof.Claim(t, proof.Row{
			Topic: "environments",
			Claim: fmt.Sprintf("stoker/Placement-v2: the mean %s over %d episodes rises from each load to the next under each of %d rules, at %d loads from 0.1 to 1.9", name,
				episodes, len(all), len(loads)),
			Bound: "none falls", Measured: measured, Holds: len(falls[i]) == 0,
		})
	}
	text := make([]string, len(all))
	for p, r := range all {
		text[p] = fmt.Sprintf("%s %.2f to %.2f", r.name, slowdown[p][0], slowdown[p][len(loads)-1])
	}
	t.Logf("slowdowns at loads %g to %g: %s", loads[0], loads[len(loads)-1], strings.Join(text, ", "))
	if dir := os.Getenv(proof.Folder); dir != "" && *long {
		writeSweep(t, dir, rows)
		drawSweep(t, dir)
	}
}

// writeSweep writes loads.csv, and table.md: a table of means with 95 % intervals for each quantity.
func writeSweep(t *testing.T, dir string, rows [][]string) {
	t.Helper()
	f := must.Get(os.Create(filepath.Join(dir, "loads.csv")))(t)
	defer f.Close()
	must.Do(t, csv.NewWriter(f).WriteAll(rows))
	cells := map[[3]string]string{}
	var policies []string
	for _, r := range rows[1:] {
		load, policy, quantity := r[1], r[2], r[3]
		mean := must.Get(strconv.ParseFloat(r[4], 64))(t)
		off := must.Get(strconv.ParseFloat(r[5], 64))(t)
		cells[[3]string{quantity, load, policy}] = fmt.Sprintf("%.3g ± %.2g", mean, 1.96*off)
		if !slices.Contains(policies, policy) {
			policies = append(policies, policy)
		}
	}
	var b strings.Builder
	for _, quantity := range []string{"slowdown", "utilisation", "violations", "cold share", "cost", "return"} {
		fmt.Fprintf(&b, "## %s\n\n| load | %s |\n|---|%s\n", quantity, strings.Join(policies, " | "),
			strings.Repeat("---|", len(policies)))
		for _, load := range sweepLoads {
			key := strconv.FormatFloat(load, 'g', 6, 64)
			fmt.Fprintf(&b, "| %s |", key)
			for _, p := range policies {
				fmt.Fprintf(&b, " %s |", cells[[3]string{quantity, key, p}])
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "table.md"), []byte(b.String()), 0o644))
}
