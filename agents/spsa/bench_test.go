package spsa

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// BenchmarkWindow is a window of a learner with four copies of the market: eight trials, four windows of the world and
// a move.
func BenchmarkWindow(b *testing.B) {
	o := marketOptions{demand: recommended, steady: true, jobs: marketJobs, length: 1 << 30}
	s := newTrainer(b, func() (envs.Env, error) { return newMarket(o), nil }, pricing([]float64{1, 1, 1}), 4, 1)
	s.windows(b, 10)
	b.ReportAllocs()
	b.ResetTimer()
	s.windows(b, b.N)
}

// BenchmarkMove is the projected step alone, with every switch on.
func BenchmarkMove(b *testing.B) {
	build, c := mixed(1 << 30)
	env := must.Get(build())(b)
	p := newPricer(b, c, env, 1)
	b.ReportAllocs()
	for b.Loop() {
		p.Move()
	}
}
