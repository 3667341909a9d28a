package core

import "github.com/stoker-rl/stoker/nets"

// Backend does an engine's arithmetic. Its methods get operands that have been checked; all but Parallel and
// Gumbel may be captured (see Record), and then they list what they would do.
type Backend[X Tensor] interface {
	// Info is how many threads a recorded update may use, and the family whose results are equal bit for bit.
	Info() (threads int, kernels string)
	// NewTensor returns a tensor of zeros.
	NewTensor(h Header) X
	// NewNet builds a network whose architecture is valid. The error says that the backend doesn't know its kind.
	NewNet(v *Vectors[X]) (Network[X], error)

	// Loss computes a loss and its gradient.
	Loss(c *LossCall[X])
	TDTarget(y, r, discount, q X)
	Add(dst X, scale float64, src X)
	Copy(dst, src X)
	Lerp(dst, src X, t float64)

	// Record makes the program of an update, which it may call with the operations captured ([State.Capture]).
	Record(update func()) Program

	Gumbel(dst []float32, words []uint32)
	Parallel(parts int, part func(i, w int))
}

// Program is a recorded update as a backend runs it.
type Program interface{ Run() }

// Learner is what learns of a network in a backend.
type Learner[X Tensor] interface {
	// ZeroGrads sets the gradients to zero.
	ZeroGrads()
	// NewAdam returns the backend's part of an optimiser.
	NewAdam(a *Adam[X]) Stepper
}

// Stepper does an optimiser's steps.
type Stepper interface{ Step() }

// Network is a network in a backend.
type Network[X Tensor] interface {
	Learner[X]
	// NewPass returns the memory of passes over a batch, which write out.
	NewPass(batch int, out X) Pass[X]
}

// Pass is one kind of network at work on a batch.
type Pass[X Tensor] interface {
	// Forward reads the inputs and writes the pass's output. It may store the tensors, not the slice.
	Forward(in []X)
	// Ready says that there is a Forward to go back from: since the pass was made or, where an update is
	// captured, in that update.
	Ready() bool
	// Backward takes the gradient w.r.t. the last Forward's output, adds to the network's gradients where params is set,
	// and sets the gradients w.r.t. the inputs gradIn, or none where that is nil. It may store the tensors, not the
	// slice.
	Backward(gradOut X, gradIn []X, params bool)
	// Want says that somebody holds the gradient w.r.t. input i. It is false where a recorded update was made that
	// left it out.
	Want(i int) bool
}

// Graphs builds networks over graphs.
type Graphs[X Tensor] interface {
	NewGraphNet(v *Vectors[X], a nets.Graph) GraphNetwork[X]
}

// GraphNetwork is a network over graphs in a backend.
type GraphNetwork[X Tensor] interface {
	Learner[X]
	// NewPass returns the memory of passes over graphs.
	NewPass(r *GraphRun[X]) GraphPass[X]
}

// GraphPass is a network over graphs at work on the batch of its [GraphRun].
type GraphPass[X Tensor] interface {
	// Forward embeds the nodes.
	Forward()
	// Head writes the result of head h to its Out.
	Head(h int)
	// Embedding writes x of the nodes of a kind after the last layer to out, Pooled the graphs' vectors.
	Embedding(kind int, out X)
	Pooled(out X)
	// Backward adds to the network's gradients, from the gradients of the heads that have run.
	Backward()
}
