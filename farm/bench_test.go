package farm_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/internal/must"
)

// What a unit costs beside its work, in one process.
func BenchmarkLocal(b *testing.B) {
	f := farm.NewLocal()
	for i := range b.N {
		must.Do(b, f.Submit(b.Context(), farm.Task{Unit: farmtest.Unit("u", uint64(i))}))
	}
	must.Do(b, f.Close())
	b.ResetTimer()
	must.Do(b, farm.Work(b.Context(), f, farm.Worker{Slots: 2,
		Do: func(context.Context, *farm.Lease, *atomic.Int64) (farm.Result, []farm.File, error) {
			return farm.Result{}, nil, nil
		}}))
}
