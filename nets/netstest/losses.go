package netstest

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Loss is a loss with a way to draw its args.
type Loss struct {
	nets.Loss
	// Args draws tensors for three agents on the engine, the same for the same stream.
	Args func(e nets.Engine, s *rng.Stream) []nets.Tensor
}

const lossAgents, lossBatch, lossChoices = 3, 5, 4

// Losses are those of [nets.Losses] by name, and a user's own. In the policies' args some choices are illegal,
// and one sample has no legal choice.
func Losses() map[string]Loss {
	out := map[string]Loss{"custom": {quartic, drawArgs([]nets.LossArg{nets.ArgAlike, nets.ArgAlike})}}
	for _, l := range nets.Losses() {
		out[fmt.Sprintf("%s%+v", l.LossName(), l)] = Loss{l, drawArgs(l.Args())}
	}
	return out
}

// quartic is a user's loss, Σ(x − y)⁴.
var quartic = nets.Custom{Name: "quartic", Func: func(value, grad []float64, args [][]float64, shapes [][]int) {
	per := len(grad) / shapes[0][0]
	for i, x := range args[0] {
		d := x - args[1][i]
		value[i/per] += d * d * d * d
		grad[i] = 4 * d * d * d
	}
}}

// drawArgs draws args of some kinds: [agents, batch, choices] where some are of choices, else of two features.
func drawArgs(kinds []nets.LossArg) func(nets.Engine, *rng.Stream) []nets.Tensor {
	return func(e nets.Engine, s *rng.Stream) (out []nets.Tensor) {
		width := 2
		var choices, mask nets.Tensor
		if slices.Contains(kinds, nets.ArgMask) {
			width = lossChoices
			choices, mask = drawChoices(e, s)
		}
		for _, kind := range kinds {
			switch kind {
			case nets.ArgAlike:
				out = append(out, drawn(e, s, 1, lossAgents, lossBatch, width))
			case nets.ArgColumn:
				out = append(out, drawn(e, s, 1, lossAgents, lossBatch, 1))
			case nets.ArgChoice:
				out = append(out, choices)
			case nets.ArgMask:
				out = append(out, mask)
			case nets.ArgLogProb:
				out = append(out, drawLogProbs(e, s))
			}
		}
		return out
	}
}

// drawChoices draws choices and masks in which they are legal, but for one sample without legal choices.
func drawChoices(e nets.Engine, s *rng.Stream) (choices, masks nets.Tensor) {
	const rows, n = lossAgents * lossBatch, lossChoices
	choice, mask := make([]float64, rows), make([]float64, rows*n)
	for row := range choice {
		choice[row] = float64(s.IntN(n))
		for k := range n {
			if float64(k) == choice[row] || s.Float64() < 0.6 {
				mask[row*n+k] = 1
			}
		}
	}
	clear(mask[7*n:][:n])
	choices, masks = e.NewTensor(lossAgents, lossBatch, 1), e.NewTensor(lossAgents, lossBatch, n)
	choices.Set64(choice)
	masks.Set64(mask)
	return choices, masks
}

// drawLogProbs draws logarithms of an old policy's probabilities.
func drawLogProbs(e nets.Engine, s *rng.Stream) nets.Tensor {
	old := drawn(e, s, 0.5, lossAgents, lossBatch, 1)
	v := numbers(old)
	for i := range v {
		v[i] -= 1.2
	}
	old.Set64(v)
	return old
}
