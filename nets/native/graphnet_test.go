package native_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/tools/proof"
)

func mustGraph(t testing.TB, e nets.Engine, c netstest.GraphCase, seed uint64) *netstest.GraphSubject {
	t.Helper()
	x := must.Get(netstest.NewGraphSubject(e, c, seed))(t)
	return x
}

// graphNames lists the cases in a fixed order.
func graphNames() []string { return slices.Sorted(maps.Keys(netstest.Graphs())) }

func TestGraphGradients(t *testing.T) {
	all := must.Get(netstest.GraphGradients(native.New(native.Options{DType: nets.Float64})))(t)
	n := 0
	for _, g := range all {
		n += g.N
	}
	worst := netstest.Worst(all)
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: fmt.Sprintf("native: gradients of %d networks over graphs against finite differences in float64, %d numbers", len(all), n),
		Bound: "1e-9 of the largest", Measured: worst.String(), Holds: worst.Error <= 1e-9,
		Command: graphCommand("Gradients"),
	})
}

// graphCommand reproduces a claim.
func graphCommand(test string) string {
	return "go test ./nets/native -run '^TestGraph" + test + "$' -v"
}

// float32, with and without assembly, agrees with float64 to float32's precision.
func TestGraphFloat32(t *testing.T) {
	cases, exact := netstest.Graphs(), map[string]netstest.GraphResult{}
	for _, name := range graphNames() {
		exact[name] = must.Get(netstest.RunGraph(native.New(native.Options{DType: nets.Float64}), cases[name], 1))(t)
	}
	for _, kernels := range graphFamilies() {
		var values, grads, params float64
		for _, name := range graphNames() {
			got := must.Get(netstest.RunGraph(native.New(native.Options{Kernels: kernels}), cases[name], 1))(t)
			v, g, p := got.Apart(exact[name])
			if !(v <= 3e-6 && g <= 1e-5 && p <= 0.2) {
				t.Errorf("%s, kernels %s: apart by %.2g, gradients by %.2g, parameters by %.2g steps", name, kernels, v, g, p)
			}
			values, grads, params = max(values, v), max(grads, g), max(params, p)
		}
		proof.Claim(t, proof.Row{
			Topic: "numerics", Claim: fmt.Sprintf("networks over graphs in float32, kernels %s, against float64, over %d whole updates", kernels, len(graphNames())),
			Bound:    "results 3e-6 and gradients 1e-5 of the largest, parameters 0.2 of a learning-rate step",
			Measured: fmt.Sprintf("%.2g, %.2g, %.2g", values, grads, params),
			Holds:    values <= 3e-6 && grads <= 1e-5 && params <= 0.2,
			Command:  graphCommand("Float32"),
		})
	}
}

// graphFamilies are the kernels to test on this machine.
func graphFamilies() []string {
	names := []string{native.Go, native.Reference}
	for _, k := range []string{"avx2", "avx512"} {
		if _, err := kernel.Named(k); err == nil {
			names = append(names, k)
		}
	}
	return names
}

// graphEngines are plain Go in float64, and all families in float32 with a tolerance.
func graphEngines() map[string]nets.Engine {
	out := map[string]nets.Engine{"float64": native.New(native.Options{DType: nets.Float64})}
	for _, k := range graphFamilies() {
		out[k] = native.New(native.Options{Kernels: k})
	}
	return out
}

func tolerance(e nets.Engine) float64 {
	if e.Info().DType == nets.Float64.String() {
		return 1e-12
	}
	return 5e-6
}

// The assemblies give the same bits, on any number of threads.
func TestGraphSameBits(t *testing.T) {
	compared := 0
	for _, name := range graphNames() {
		c := netstest.Graphs()[name]
		var want *netstest.GraphResult
		for _, kernels := range graphFamilies() {
			if kernels == native.Go || kernels == native.Reference {
				continue
			}
			for _, threads := range []int{1, 2, 5} {
				got := must.Get(netstest.RunGraph(native.New(native.Options{Kernels: kernels, Threads: threads}), c, 1))(t)
				if want == nil {
					want = &got
				}
				if !reflect.DeepEqual(got, *want) {
					t.Errorf("%s: %s on %d threads gives different bits", name, kernels, threads)
				}
				compared++
			}
		}
	}
	if compared > 0 {
		proof.Claim(t, proof.Row{
			Topic: "numerics", Claim: "networks over graphs: AVX-512 and AVX2 on 1, 2 and 5 threads give the same bits of results, gradients and parameters",
			Bound: "equal", Measured: fmt.Sprintf("%d updates equal", compared), Holds: !t.Failed(),
			Command: graphCommand("SameBits"),
		})
	}
}
