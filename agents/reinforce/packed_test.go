package reinforce

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// images are what DeepRM's cluster looks like over some steps of moving on and choosing.
func images(t testing.TB, n int) (rows [][]float32) {
	t.Helper()
	c := deeprm.Default()
	c.Rate = 1
	e := must.Get(deeprm.New(c))(t)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	must.Do(t, e.Reset(1, nil, obs))
	s := rng.NewStream(1, "packed")
	for range n {
		rows = append(rows, slices.Clone(obs.Kinds[0].Values))
		for a := s.IntN(11); ; a = s.IntN(11) {
			if obs.Kinds[0].Mask[a] {
				act.Kinds[0][0] = float32(a)
				break
			}
		}
		must.Do(t, e.Step(act, obs, out))
	}
	return rows
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Rows come back bit by bit: narrow ones, images, and wide ones without runs.
func TestPackedLosesNothing(t *testing.T) {
	odd := float32(math.Copysign(0, -1))
	noise := make([]float32, 300)
	for i := range noise {
		noise[i] = float32(i) + 0.25
	}
	whole := make([]float32, 4480)
	for i := range whole {
		whole[i] = odd
	}
	for name, rows := range map[string][][]float32{
		"narrow": {{1, 2, 3}, {0, 0, odd}, {3, 3, 3}},
		"images": images(t, 80),
		"wide":   {noise, make([]float32, 300), append(make([]float32, 299), 1), slices.Repeat([]float32{7}, 300)},
		"zeros":  {whole, make([]float32, 4480)},
	} {
		var p packed
		for _, r := range rows {
			p.add(r)
		}
		width := len(rows[0])
		var again packed
		b, err := state.Append(nil, "rows", &p)
		if err := errors.Join(err, state.Load(b, "rows", &again), again.check(width)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := make([]float32, width)
		for i, r := range rows {
			for _, q := range []*packed{&p, &again} {
				got[0] = 5
				if q.get(i, got); !same(got, r) {
					t.Errorf("%s: row %d is another", name, i)
				}
			}
		}
		if name == "images" {
			if share := float64(len(p.words)+len(p.plain)) / float64(len(rows)*width); share > 0.15 {
				t.Errorf("images take %.0f %% of their numbers' memory, want at most 15 %%", 100*share)
			} else {
				t.Logf("images take %.1f %% of their numbers' memory", 100*share)
			}
		}
	}
}

// Forged rows are refused and never read beyond their end.
func TestPackedForged(t *testing.T) {
	const width = 300
	for name, words := range map[string][]uint32{
		"no row":                {},
		"too few":               {0},
		"runs beyond the end":   {0, 3, 1<<16 | 1, 1},
		"runs beyond all":       {0, math.MaxUint32 - 1},
		"no such plain row":     {0, plain, 0},
		"no plain row's number": {0, plain},
		"a run beyond a row":    {0, 1, 299<<16 | 2, 1},
		"a run far beyond":      {0, 1, math.MaxUint32, 1},
		"words after the rows":  {0, 0, 0},
	} {
		// Of two rows, wherever they end.
		for end := range len(words) + 1 {
			p := packed{words: words, ends: []int{end, len(words)}}
			if p.check(width) == nil {
				t.Errorf("%s: accepted with a first row of %d words", name, end)
			}
		}
	}
}

func BenchmarkPacked(b *testing.B) {
	rows := images(b, 64)
	row := make([]float32, len(rows[0]))
	var p packed
	for _, r := range rows {
		p.add(r)
	}
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%64 == 0 {
				p.clear()
			}
			p.add(rows[i%64])
		}
	})
	p.clear()
	for _, r := range rows {
		p.add(r)
	}
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.get(i%64, row)
		}
	})
}
