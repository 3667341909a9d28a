package plain_test

import (
	"testing"

	"github.com/stoker-rl/stoker/nets/native/internal/plain"
	"github.com/stoker-rl/stoker/rng"
)

// The product that layers of 64 are made of, in its three forms.
func BenchmarkProduct(b *testing.B) {
	const n = 64
	s := rng.NewStream(1, "product")
	m := make([][]float32, 3)
	for i := range m {
		m[i] = make([]float32, n*n)
		for j := range m[i] {
			m[i][j] = float32(s.Norm())
		}
	}
	for name, t := range map[string][2]bool{"forward": {false, false}, "weights": {true, false}, "inputs": {false, true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plain.Mul32(t[0], t[1], n, n, n, m[0], n, m[1], n, m[2], n)
			}
			b.ReportMetric(2*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
