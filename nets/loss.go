package nets

import (
	"errors"
	"fmt"
	"slices"
)

// Loss is a named loss. Its value for an agent is a mean over the batch. It writes the gradient of the sum over agents,
// so that agents with their own parameters learn as if each were alone.
//
// All that package nets says of a loss is in this file. To add one, declare it here, list it in [Losses], and
// write its equation in each engine: native/internal/plain/loss.go, torch/loss.go and gorgonia/loss.go. The tests of all
// engines take their losses from [Losses].
type Loss interface {
	// LossName names the loss in errors and recordings.
	LossName() string
	// Args lists what the loss takes, in order; nil is any args.
	Args() []LossArg
	// Validate says which constant is out of its range.
	Validate() error
}

// LossArg is what a loss takes as an arg.
type LossArg uint8

// Kinds of args. The first arg is always ArgAlike: the gradient is by it.
const (
	ArgAlike   LossArg = iota // numbers in the shape of the first arg
	ArgColumn                 // a number for each sample, [agents, batch, 1], where the first arg is [agents, batch, n]
	ArgChoice                 // such a column of numbers of choices, 0 to n−1
	ArgLogProb                // such a column of logarithms of probabilities
	ArgMask                   // 1 for a legal choice and 0 for others, [agents, batch, n]
)

// Losses lists every loss but [Custom], with constants that suit tests.
func Losses() []Loss {
	return []Loss{
		SquaredError{}, Huber{Delta: 0.8}, Ascent{}, Penalty{Coef: 0.3},
		PolicyGradient{}, PolicyGradient{Entropy: 0.2}, ClippedSurrogate{Clip: 0.2, Entropy: 0.1},
		Temperature{Target: -1.5},
	}
}

// CheckLoss says why a loss cannot be computed with a value and args of these shapes; nil where it can.
func CheckLoss(l Loss, value []int, args [][]int) error {
	if len(args) == 0 {
		return fmt.Errorf("%s has no args, want at least 1", l.LossName())
	}
	first := args[0]
	if len(first) == 0 || product(first) == 0 || !slices.Equal(value, first[:1]) {
		return fmt.Errorf("%s: the value has shape %v and arg 0 %v, want [agents] and [agents, batch, …]",
			l.LossName(), value, first)
	}
	kinds := l.Args()
	if kinds != nil && len(args) != len(kinds) {
		return fmt.Errorf("%s has %d args, want %d", l.LossName(), len(args), len(kinds))
	}
	for i, kind := range kinds {
		got := args[i]
		if kind == ArgAlike || kind == ArgMask {
			if !slices.Equal(got, first) {
				return fmt.Errorf("%s: arg %d has shape %v, want %v", l.LossName(), i, got, first)
			}
		} else if len(first) != 3 || len(got) != 3 || got[0] != first[0] || got[1] != first[1] || got[2] != 1 {
			return fmt.Errorf("%s: arg %d has shape %v and arg 0 %v, want [agents batch 1] and [agents batch n]",
				l.LossName(), i, got, first)
		}
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("%s: %w", l.LossName(), err)
	}
	return nil
}

// SquaredError is L = mean((x − y)²). Args: x, y.
type SquaredError struct{}

// Huber is the mean of ½d² where |d| ≤ Delta and Delta(|d| − ½Delta) elsewhere, d = x − y (Huber, 1964). Args: x, y.
type Huber struct{ Delta float64 }

// Ascent is L = −mean(x): the deterministic policy gradient, where x is Q(s, π(s)). Args: x.
type Ascent struct{}

// Penalty is L = Coef·mean(x²) over batch and features: MADDPG's logit regulariser. Args: x.
type Penalty struct{ Coef float64 }

// Temperature is L = −mean(x·(ln π + Target)): where x = ln α it moves the weight α of the entropy until the policy's
// entropy is Target (Haarnoja et al., 2018b, eq. 18, by ln α as in their code). Args: x, ln π.
type Temperature struct{ Target float64 }

// PolicyGradient is L = −mean(A·ln π(a)) − Entropy·mean(H(π)), π the softmax of the logits over the legal
// choices (Williams, 1992). Args: logits [agents, batch, n], the choice's number a [agents, batch, 1],
// advantage A [agents, batch, 1], mask [agents, batch, n] with 1 for legal. Illegal choices get no gradient,
// whatever their logits hold; a sample without a legal choice adds nothing to value and gradient, and its a is
// not read.
type PolicyGradient struct{ Entropy float64 }

// ClippedSurrogate is L = −mean(min(rA, clip(r, 1−Clip, 1+Clip)A)) − Entropy·mean(H(π)), r = π(a)/π_old(a)
// (Schulman et al., 2017). Args as PolicyGradient, then ln π_old(a) [agents, batch, 1].
type ClippedSurrogate struct{ Clip, Entropy float64 }

// Custom is a user's own loss, computed on the host by any engine: Func gets the args' values and shapes,
// writes the value of each agent and the gradient w.r.t. the first arg.
type Custom struct {
	Name string
	Func func(value, grad []float64, args [][]float64, shapes [][]int)
}

// LossName implements [Loss].
func (SquaredError) LossName() string { return "squared error" }

// LossName implements [Loss].
func (Huber) LossName() string { return "Huber" }

// LossName implements [Loss].
func (Ascent) LossName() string { return "ascent" }

// LossName implements [Loss].
func (Penalty) LossName() string { return "penalty" }

// LossName implements [Loss].
func (Temperature) LossName() string { return "temperature" }

// LossName implements [Loss].
func (PolicyGradient) LossName() string { return "policy gradient" }

// LossName implements [Loss].
func (ClippedSurrogate) LossName() string { return "clipped surrogate" }

// LossName implements [Loss].
func (c Custom) LossName() string { return c.Name }

// Lists of args are made once: a loss is computed without allocating.
var (
	argsOne       = []LossArg{ArgAlike}
	argsTwo       = []LossArg{ArgAlike, ArgAlike}
	argsPolicy    = []LossArg{ArgAlike, ArgChoice, ArgColumn, ArgMask}
	argsSurrogate = []LossArg{ArgAlike, ArgChoice, ArgColumn, ArgMask, ArgLogProb}
)

// Args implements [Loss].
func (SquaredError) Args() []LossArg { return argsTwo }

// Args implements [Loss].
func (Huber) Args() []LossArg { return argsTwo }

// Args implements [Loss].
func (Ascent) Args() []LossArg { return argsOne }

// Args implements [Loss].
func (Penalty) Args() []LossArg { return argsOne }

// Args implements [Loss].
func (Temperature) Args() []LossArg { return argsTwo }

// Args implements [Loss].
func (PolicyGradient) Args() []LossArg { return argsPolicy }

// Args implements [Loss].
func (ClippedSurrogate) Args() []LossArg { return argsSurrogate }

// Args implements [Loss]: any.
func (Custom) Args() []LossArg { return nil }

// Validate implements [Loss].
func (SquaredError) Validate() error { return nil }

// Validate implements [Loss].
func (h Huber) Validate() error {
	if !(h.Delta > 0) {
		return fmt.Errorf("delta is %g, want it positive", h.Delta)
	}
	return nil
}

// Validate implements [Loss].
func (Ascent) Validate() error { return nil }

// Validate implements [Loss].
func (Penalty) Validate() error { return nil }

// Validate implements [Loss].
func (t Temperature) Validate() error {
	if t.Target-t.Target != 0 {
		return fmt.Errorf("target is %g, want a finite number", t.Target)
	}
	return nil
}

// Validate implements [Loss].
func (PolicyGradient) Validate() error { return nil }

// Validate implements [Loss].
func (c ClippedSurrogate) Validate() error {
	if !(c.Clip >= 0) {
		return fmt.Errorf("clip is %g, want 0 or more", c.Clip)
	}
	return nil
}

// Validate implements [Loss].
func (c Custom) Validate() error {
	if c.Func == nil {
		return errors.New("no function")
	}
	return nil
}
