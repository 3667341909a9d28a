package kernel

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "measure every kernel against the machine's limits (a minute on an idle machine)")

// timed is ns per call of f, over at least about 20 µs.
func timed(f func()) float64 {
	for n := 1; ; n *= 2 {
		start := time.Now()
		for range n {
			f()
		}
		if d := time.Since(start); d > 20*time.Microsecond {
			return float64(d.Nanoseconds()) / float64(n)
		}
	}
}

// against times f and limit in turn, so that both run at the same clock rate. limit returns the ns that f's work
// takes at the machine's limit. part is the median of limit/f, low and high its quartiles, and ns f's median time.
func against(f func(), limit func() float64) (part, low, high, ns float64) {
	const most = 300
	var parts, all []float64
	for start := time.Now(); len(all) < most && (len(all) < 20 || time.Since(start) < time.Second); {
		l := limit()
		all = append(all, timed(f))
		parts = append(parts, l/all[len(all)-1])
	}
	slices.Sort(parts)
	slices.Sort(all)
	n := len(all)
	return parts[n/2], parts[n/4], parts[3*n/4], all[n/2]
}

// TestRoofline compares every kernel with the limits of a core: multiply-adds in registers and, for long slices,
// copying memory.
func TestRoofline(t *testing.T) {
	if !*long {
		t.Skip("a measurement for an idle machine: -long")
	}
	rows := [][]string{{"kernels", "call", "ns", "GFLOP/s", "FLOP/byte", "part of peak arithmetic", "quartiles",
		"GB/s", "part of copying's GB/s"}}
	for _, s := range assemblies(t) {
		d := newDraws(t, 1)
		loads := append(append(products(d, s), tiles(d, s)...), one(d, s))
		for _, n := range []int{4096, 1 << 20} {
			for _, l := range lengths(d, s, n) {
				l.name = fmt.Sprintf("%s/%d", l.name, n)
				loads = append(loads, l)
			}
		}
		from, to := d.slice(1<<20), d.slice(1<<20)
		for _, l := range loads {
			part, low, high, ns := against(l.f, func() float64 {
				const n = 1 << 17
				done := 0
				peak := timed(func() { done = s.Peak(n) })
				return l.flops / (2 * float64(done) / peak)
			})
			copying := ""
			if strings.HasSuffix(l.name, "/1048576") {
				c, _, _, _ := against(l.f, func() float64 { return l.bytes / (8 << 20) * timed(func() { copy(to, from) }) })
				copying = fmt.Sprintf("%.2f", c)
			}
			rows = append(rows, []string{s.Name, l.name, fmt.Sprintf("%.0f", ns), fmt.Sprintf("%.1f", l.flops/ns),
				fmt.Sprintf("%.2f", l.flops/l.bytes),
				fmt.Sprintf("%.3f", part), fmt.Sprintf("%.3f-%.3f", low, high), fmt.Sprintf("%.1f", l.bytes/ns), copying})
			switch l.name {
			case "Product/64x64x64":
				proof.Claim(t, proof.Row{Topic: "speed",
					Claim: "Product of 64 × 64 × 64 with bias and ReLU, " + s.Name + ", of the core's multiply-adds", Bound: "85 %",
					Measured: fmt.Sprintf("%.0f %% (%.0f–%.0f), %.0f GFLOP/s", 100*part, 100*low, 100*high,
						l.flops/ns), Holds: part >= 0.85})
			case "Vector/64-128-128-8":
				proof.Claim(t, proof.Row{Topic: "speed", Claim: "One sample through 64-128-128-8, " + s.Name,
					Bound: "1.5 µs", Measured: fmt.Sprintf("%.2f µs", ns/1e3), Holds: ns < 1500})
			}
		}
	}
	if dir := os.Getenv(proof.Folder); dir != "" {
		f := must.Get(os.Create(filepath.Join(dir, "roofline.csv")))(t)
		if err := csv.NewWriter(f).WriteAll(rows); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, r := range rows {
		t.Log(strings.Join(r, "  "))
	}
}
