package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/proof"
)

// keptGraph is the folder of docs/results/graph/measure.
var keptGraph = filepath.Join("..", "docs", "results", "graph")

// TestKeptGraph says what the kept measurements of the graph policy claim, and writes their table.
func TestKeptGraph(t *testing.T) {
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		t.Skip("measures nothing: docs/results/graph/measure runs it")
	}
	rows, growth := readKept[Comparison](t, keptGraph, "peers.jsonl"), readKept[Result](t, keptGraph, "growth.jsonl")
	var table strings.Builder
	table.WriteString("| edges | what | kernels | ours, s | PyTorch Geometric, s | times | quartiles | extremes |\n|---|---|---|---|---|---|---|---|\n")
	for _, edges := range []string{"1000", "1e+04", "1e+05", "1e+06"} {
		for _, f := range []struct {
			figure, name string
			least        float64
		}{{"inference_seconds", "inference", 8}, {"step_seconds", "training step", 5}} {
			for _, kernels := range []string{"avx512", "avx2"} {
				found := false
				for _, r := range rows {
					if !strings.HasPrefix(r.What, "graph "+edges+" edges") || r.Figure != f.figure || !strings.Contains(r.Ours, kernels) {
						continue
					}
					found = true
					fmt.Fprintf(&table, "| %s | %s | %s | %.3g | %.3g | %.1f | %.1f–%.1f | %.1f–%.1f |\n",
						edges, f.name, kernels, r.OurValue, r.PeerValue, r.Ratio, r.Low, r.High, r.Least, r.Most)
					proof.Claim(t, proof.Row{
						Topic: "speed", Claim: fmt.Sprintf("graph policy, %s edges, hidden 64, %s, %s, two threads each, against PyTorch Geometric", edges, f.name, kernels),
						Bound: fmt.Sprintf("%g times", f.least), Holds: r.Ratio >= f.least, Command: "docs/results/graph/measure PYTHON PEERS",
						Measured: fmt.Sprintf("%.1f times (quartiles %.1f–%.1f of %d rounds), %.3g and %.3g s", r.Ratio, r.Low, r.High, r.Rounds, r.OurValue, r.PeerValue),
					})
				}
				if !found {
					t.Errorf("nothing is kept of %s, %s edges, %s", f.name, edges, kernels)
				}
			}
		}
	}
	table.WriteString("\n| edges | threads | inference, s | training step, s | ns an edge | peak MB |\n|---|---|---|---|---|---|\n")
	for _, r := range growth {
		fmt.Fprintf(&table, "| %d | %d | %.3g | %.3g | %.0f, %.0f | %.0f |\n",
			r.Edges, r.Threads, r.InferenceSeconds, r.StepSeconds, 1e9*r.InferenceSeconds/float64(r.Edges), 1e9*r.StepSeconds/float64(r.Edges), r.PeakMemory)
	}
	if err := os.WriteFile(filepath.Join(dir, "table.md"), []byte(table.String()), 0o644); err != nil {
		t.Error(err)
	}
}
