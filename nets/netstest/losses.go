package netstest

import (
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

// Losses are all losses by name, the user's own among them. In the policies' args some choices are illegal, and one sample has no legal
// choice.
func Losses() map[string]Loss {
	return map[string]Loss{
		"squared error":     {nets.SquaredError{}, someArgs(2)},
		"huber":             {nets.Huber{Delta: 0.8}, someArgs(2)},
		"ascent":            {nets.Ascent{}, someArgs(1)},
		"penalty":           {nets.Penalty{Coef: 0.3}, someArgs(1)},
		"policy gradient":   {nets.PolicyGradient{}, policyArgs},
		"entropy":           {nets.PolicyGradient{Entropy: 0.2}, policyArgs},
		"clipped surrogate": {nets.ClippedSurrogate{Clip: 0.2, Entropy: 0.1}, surrogateArgs},
		"custom":            {quartic, someArgs(2)},
	}
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

// someArgs draws args of one shape.
func someArgs(count int) func(nets.Engine, *rng.Stream) []nets.Tensor {
	return func(e nets.Engine, s *rng.Stream) (out []nets.Tensor) {
		for range count {
			out = append(out, drawn(e, s, 1, lossAgents, lossBatch, 2))
		}
		return out
	}
}

// policyArgs draws logits, choices, advantages and masks.
func policyArgs(e nets.Engine, s *rng.Stream) []nets.Tensor {
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
	choices, masks := e.NewTensor(lossAgents, lossBatch, 1), e.NewTensor(lossAgents, lossBatch, n)
	choices.Set64(choice)
	masks.Set64(mask)
	return []nets.Tensor{drawn(e, s, 1, lossAgents, lossBatch, n), choices, drawn(e, s, 1, lossAgents, lossBatch, 1), masks}
}

// surrogateArgs adds the logarithms of the old policy's probabilities.
func surrogateArgs(e nets.Engine, s *rng.Stream) []nets.Tensor {
	args, old := policyArgs(e, s), drawn(e, s, 0.5, lossAgents, lossBatch, 1)
	v := numbers(old)
	for i := range v {
		v[i] -= 1.2
	}
	old.Set64(v)
	return append(args, old)
}
