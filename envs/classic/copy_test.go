package classic

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

func BenchmarkCopyFrom(b *testing.B) {
	a, err := NewCartPole(DefaultCartPole())
	if err != nil {
		b.Fatal(err)
	}
	o, err := NewCartPole(DefaultCartPole())
	if err != nil {
		b.Fatal(err)
	}
	if err := a.Reset(1, nil, envs.NewObservation(a.Spec())); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.CopyFrom(a); err != nil {
			b.Fatal(err)
		}
	}
}
