package classic

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

func BenchmarkCopyFrom(b *testing.B) {
	a := must.Get(NewCartPole(DefaultCartPole()))(b)
	o := must.Get(NewCartPole(DefaultCartPole()))(b)
	must.Do(b, a.Reset(1, nil, envs.NewObservation(a.Spec())))
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, o.CopyFrom(a))
	}
}
