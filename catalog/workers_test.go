package catalog_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// However many goroutines step the copies of an environment, every reward, end, info and finished episode is the same
// to the bit, and so is all state in the end.
func TestWorkersDoNotMatter(t *testing.T) {
	copies, steps, counts := 4, 25, []int{3}
	if *long {
		copies, steps, counts = 8, 100, []int{2, 8}
	}
	all, other := catalog.Default().Envs, 0
	for _, e := range all {
		run := func(workers int) uint64 {
			v := must.Get(envs.NewVector(func() (envs.Env, error) { return e.New(e.Config(), sizing.DefaultWorkload()) },
				envs.VectorOptions{NumEnvs: copies, Seed: 11, Workers: workers}))(t)
			sampler := must.Get(envs.NewActionSampler(v.Spec()))(t)
			must.Do(t, v.Reset())
			stream, h := rng.NewStream(11, "actions"), fnv.New64a()
			for range steps {
				for i := range copies {
					must.Do(t, sampler.Sample(stream, v.Obs.Env(i), v.Act.Env(i)))
				}
				must.Do(t, v.Step())
				fmt.Fprint(h, v.Rewards, v.Terminated, v.Truncated, v.Elapsed, v.Info, v.Finished)
			}
			state := must.Get(v.AppendBinary(nil))(t)
			h.Write(state)
			return h.Sum64()
		}
		want := run(1)
		for _, workers := range counts {
			if got := run(workers); got != want {
				other++
				t.Errorf("%s: %d workers give %x, one gives %x", e.ID, workers, got, want)
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("%d copies of each of %d environments, stepped %d times by 1 and by %v workers: the same rewards, ends, infos, episodes and saved state",
			copies, len(all), steps, counts),
		Bound:    "equal bits",
		Measured: fmt.Sprintf("%d of %d runs differ from one worker's", other, len(counts)*len(all)),
		Holds:    other == 0,
	})
}
