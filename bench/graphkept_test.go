package bench

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"
)

// keptGraph is the folder of the measurements of the graph policy that the documentation shows.
var keptGraph = filepath.Join("..", "docs", "results", "graph")

// TestKeptGraph is TestKept for the graph policy.
func TestKeptGraph(t *testing.T) {
	from := cmp.Or(*measured, keptGraph)
	claims, table := graphClaims(t, readKept[Comparison](t, from, "peers.jsonl"), readKept[Result](t, from,
		"growth.jsonl"))
	keeps(t, keptGraph, claims, map[string]string{"table.md": table})
}

// graphClaims are the claims of the comparisons, and the table of both kinds of measurements.
func graphClaims(t *testing.T, rows []Comparison, growth []Result) (claims []proof.Row, text string) {
	t.Helper()
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
					if !strings.HasPrefix(r.What, "graph "+edges+" edges") || r.Figure != f.figure ||
						!strings.Contains(r.Ours, kernels) {
						continue
					}
					found = true
					fmt.Fprintf(&table, "| %s | %s | %s | %.3g | %.3g | %.1f | %.1f–%.1f | %.1f–%.1f |\n",
						edges, f.name, kernels, r.OurValue, r.PeerValue, r.Ratio, r.Low, r.High, r.Least, r.Most)
					claims = append(claims, proof.Row{
						Topic: "speed", Claim: fmt.Sprintf("graph policy, %s edges, hidden 64, %s, %s, two threads each, against PyTorch Geometric", edges, f.name, kernels),
						Bound: fmt.Sprintf("%g times",
							f.least), Holds: r.Ratio >= f.least, Command: "make verify NAME=graph",
						Measured: fmt.Sprintf("%.1f times (quartiles %.1f–%.1f of %d rounds), %.3g and %.3g s", r.Ratio,
							r.Low, r.High, r.Rounds, r.OurValue, r.PeerValue),
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
	return claims, table.String()
}
