package foreign

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// BenchmarkRequest asks for one episode of an environment that sees a graph, whose later choices depend on earlier ones.
func BenchmarkRequest(b *testing.B) {
	env := must.Get(placement.New(placement.Default(), workload.Default()))(b)
	seen := envs.NewObservation(env.Spec())
	must.Do(b, env.Reset(1, nil, seen))
	l := &lines{spec: env.Spec(), arrays: "bytes"}
	b.ReportAllocs()
	for b.Loop() {
		must.Get(l.request([]Turn{{Seen: seen}}))(b)
	}
}
