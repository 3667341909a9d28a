package tile

import (
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

func BenchmarkLossRow(b *testing.B) {
	x, y, g := make([]float32, 64), make([]float32, 64), make([]float32, 64)
	for name, law := range map[string]nets.Loss{"squared": nets.SquaredError{}, "ascent": nets.Ascent{},
		"penalty": nets.Penalty{Coef: 1e-3}} {
		b.Run(name, func(b *testing.B) {
			l := &lossStep{}
			l.call.Law, l.call.Per = law, 1024
			b.ReportAllocs()
			for b.Loop() {
				l.row(x, y, g)
			}
		})
	}
}
