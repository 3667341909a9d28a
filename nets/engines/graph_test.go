package engines

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "compare the gradients of networks over graphs with finite differences on every engine, for minutes")

// TestGraphAgreement holds all engines of this binary against each other on networks over graphs: embeddings,
// heads, gradients and a step of Adam.
func TestGraphAgreement(t *testing.T) {
	type candidate struct {
		engine, against  string
		dtype, reference nets.DType
		tol              tolerance
	}
	candidates := []candidate{{Native, Native, nets.Float32, nets.Float64, single}}
	for i, name := range Names() {
		for _, other := range Names()[:i] {
			candidates = append(candidates,
				candidate{name, other, nets.Float32, nets.Float32, single},
				candidate{name, other, nets.Float64, nets.Float64, double})
		}
	}
	cases, batches := netstest.Graphs(), 1
	if os.Getenv(proof.Folder) != "" {
		batches = 2
	}
	for _, c := range candidates {
		name := fmt.Sprintf("%s in %v against %s in %v", c.engine, c.dtype, c.against, c.reference)
		t.Run(name, func(t *testing.T) {
			e, reference := open(t, c.engine, c.dtype), open(t, c.against, c.reference)
			var values, gradients, parameters float64
			for name, graphs := range cases {
				for seed := range uint64(batches) {
					v, g, p := runGraph(t, e, graphs, seed).Apart(runGraph(t, reference, graphs, seed))
					if !(v <= c.tol.gradient && g <= c.tol.gradient && p <= c.tol.parameter) {
						t.Errorf("%s, seed %d: values apart by %.2g, gradients by %.2g, parameters by %.2g", name, seed, v, g, p)
					}
					values, gradients, parameters = max(values, v), max(gradients, g), max(parameters, p)
				}
			}
			proof.Claim(t, proof.Row{
				Topic: "numerics", Claim: fmt.Sprintf("networks over graphs: %s, %d networks on %d batches each", name, len(cases), batches),
				Bound:    fmt.Sprintf("embeddings, results and gradients %g of the largest, parameters after a step of Adam %g of it", c.tol.gradient, c.tol.parameter),
				Measured: fmt.Sprintf("%.2g, %.2g, %.2g", values, gradients, parameters),
				Holds:    values <= c.tol.gradient && gradients <= c.tol.gradient && parameters <= c.tol.parameter && !t.Failed(),
				Command:  command("TestGraphAgreement", c.engine, c.against),
			})
			shut(t, e, reference)
		})
	}
}

func runGraph(t *testing.T, e nets.Engine, c netstest.GraphCase, seed uint64) netstest.GraphResult {
	t.Helper()
	r := must.Get(netstest.RunGraph(e, c, seed))(t)
	return r
}

func shut(t *testing.T, engines ...nets.Engine) {
	t.Helper()
	for _, e := range engines {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGraphAgreementWithLaws holds every engine against what must be so of networks over graphs whatever computes them.
func TestGraphAgreementWithLaws(t *testing.T) {
	for _, name := range Names() {
		for _, d := range []nets.DType{nets.Float32, nets.Float64} {
			bound := map[nets.DType]float64{nets.Float32: 1e-5, nets.Float64: 1e-12}[d]
			t.Run(fmt.Sprintf("%s in %v", name, d), func(t *testing.T) {
				e := open(t, name, d)
				worst := 0.0
				cases := netstest.Graphs()
				for of, c := range cases {
					apart := must.Get(netstest.GraphPermutation(e, c, 3))(t)
					if !(apart <= bound) {
						t.Errorf("%s: apart by %.2g", of, apart)
					}
					worst = max(worst, apart)
				}
				alone := must.Get(netstest.GraphWithoutEdges(e))(t)
				for _, c := range []struct {
					claim string
					apart float64
				}{
					{fmt.Sprintf("nodes and edges in another order move %d networks' embeddings and scores and leave values and gradients", len(cases)), worst},
					{"a graph without edges is an MLP over its nodes", alone},
				} {
					proof.Claim(t, proof.Row{
						Topic: "numerics", Claim: fmt.Sprintf("networks over graphs, %s in %v: %s", name, d, c.claim),
						Bound: fmt.Sprintf("%g of the largest", bound), Measured: fmt.Sprintf("%.2g", c.apart), Holds: c.apart <= bound,
						Command: command("TestGraphAgreementWithLaws", name),
					})
				}
				shut(t, e)
			})
		}
	}
}

// TestGraphGradients holds every engine's gradients against finite differences. Native's are held in its own
// package's tests too, and the others agree with it in TestGraphAgreement, so that this is for -long.
func TestGraphGradients(t *testing.T) {
	if !*long {
		t.Skip("minutes: run with -long")
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			e := open(t, name, nets.Float64)
			all := must.Get(netstest.GraphGradients(e))(t)
			n := 0
			for _, g := range all {
				n += g.N
			}
			worst := netstest.Worst(all)
			proof.Claim(t, proof.Row{
				Topic: "numerics", Claim: fmt.Sprintf("%s: gradients of networks over graphs against finite differences in float64, %d numbers", name, n),
				Bound: "1e-8 of the largest", Measured: worst.String(), Holds: worst.Error <= 1e-8,
				Command: command("TestGraphGradients", name),
			})
			shut(t, e)
		})
	}
}
