package nets

// Loss is a named loss. Its value for an agent is a mean over the batch, and what it writes as gradient is that
// of the sum over agents, so that agents with their own parameters learn as if each were alone.
type Loss interface {
	// LossName names the loss in errors and recordings.
	LossName() string
}

// SquaredError is L = mean((x − y)²). Args: x, y.
type SquaredError struct{}

// Huber is the mean of ½d² where |d| ≤ Delta and Delta(|d| − ½Delta) elsewhere, d = x − y (Huber, 1964). Args: x, y.
type Huber struct{ Delta float64 }

// Ascent is L = −mean(x): the deterministic policy gradient, where x is Q(s, π(s)). Args: x.
type Ascent struct{}

// Penalty is L = Coef·mean(x²) over batch and features: MADDPG's logit regulariser. Args: x.
type Penalty struct{ Coef float64 }

// PolicyGradient is L = −mean(A·ln π(a)) − Entropy·mean(H(π)), π the softmax of the logits over the legal choices (Williams,
// 1992). Args: logits [agents, batch, n], the choice's number a [agents, batch, 1], advantage A [agents, batch, 1], mask
// [agents, batch, n] with 1 for legal. Illegal choices get no gradient, whatever their logits hold; a sample without a legal choice
// adds nothing to value and gradient, and its a is not read.
type PolicyGradient struct{ Entropy float64 }

// ClippedSurrogate is L = −mean(min(rA, clip(r, 1−Clip, 1+Clip)A)) − Entropy·mean(H(π)), r = π(a)/π_old(a) (Schulman et al.,
// 2017). Args as PolicyGradient, then ln π_old(a) [agents, batch, 1].
type ClippedSurrogate struct{ Clip, Entropy float64 }

// Custom is a user's own loss, computed on the host by any engine: Func gets the args' values and shapes, writes the value
// of each agent and the gradient by the first arg.
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
func (PolicyGradient) LossName() string { return "policy gradient" }

// LossName implements [Loss].
func (ClippedSurrogate) LossName() string { return "clipped surrogate" }

// LossName implements [Loss].
func (c Custom) LossName() string { return c.Name }
