// Package core is the part of the engines that does no arithmetic. It implements package nets' contract once
// for all backends: it checks operands and shapes, stores the first failure, and in debug mode compares the
// operations of a recorded update's runs.
//
// A [Backend] does the arithmetic on tensors of its own type X, which it lays out in memory as it likes:
// row-major in plain and in nets/gorgonia ([Dense]), in tiles of samples in tile, on a device in nets/torch. [Engine] and
// everything that it returns are generic over X, so a backend gets its own tensors and casts nothing. A [Graphs] does
// the same for networks over graphs.
//
// What is not here: arithmetic, memory layouts, threads, and the choice of a backend (package native).
package core

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// Backend does an engine's arithmetic. Its methods get operands that have been checked; all but Parallel and
// Gumbel may be captured (see Record), and then they list what they would do. What fails beyond that is reported to the
// [State].
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

	// Record makes the program of independent updates, which it may call with the operations captured ([State.Capture]).
	Record(updates []func()) Program

	Gumbel(dst []float32, words []uint32)
	Parallel(parts int, part func(i, w int))
}

// Program is a recorded update as a backend runs it.
type Program interface{ Run() }

// Called is a [Program] that calls the updates, one after the other.
type Called []func()

// Run implements [Program].
func (c Called) Run() {
	for _, update := range c {
		update()
	}
}

// Learner is what learns of a network in a backend.
type Learner[X Tensor] interface {
	// ZeroGrads sets the gradients to zero.
	ZeroGrads()
	// NewAdam returns the backend's part of an optimiser.
	NewAdam(a *Adam[X]) Stepper
}

// Stepper does an optimiser's steps.
type Stepper interface{ Step() }

// Preparer is a Stepper that is told when the factors of its next steps have changed, outside recorded updates.
type Preparer interface{ Prepare() }

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
	NewGraphNet(v *Vectors[X], a nets.Graph) (GraphNetwork[X], error)
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

// Engine implements [nets.Engine] by a backend.
type Engine[X Tensor] struct {
	*State
	dtype  nets.DType
	back   Backend[X]
	graphs Graphs[X]
	loss   LossCall[X] // the one being computed
}

// New returns an engine that computes in a number format.
func New[X Tensor](s *State, dtype nets.DType, back Backend[X], graphs Graphs[X]) *Engine[X] {
	return &Engine[X]{State: s, dtype: dtype, back: back, graphs: graphs}
}

// Info implements [nets.Engine].
func (e *Engine[X]) Info() nets.Info {
	i := nets.Info{Name: e.name, Device: "cpu", DType: e.dtype.String()}
	i.Threads, i.Kernels = e.back.Info()
	return i
}

// Close implements [nets.Engine]. There is nothing to free.
func (e *Engine[X]) Close() error { return nil }

// Gumbel sets dst to standard Gumbel noise by as many random words: −ln(−ln u) with u = (word>>9 + ½)/2²³. It
// is for callers who draw much noise at once; its last bits are those of the engine's kernels.
func (e *Engine[X]) Gumbel(dst []float32, words []uint32) { e.back.Gumbel(dst, words) }

// Parallel does parts 0 … parts−1 of what must be done between updates, such as copying a minibatch, on the
// engine's threads, and returns when all are done: part i on worker w < Workers, and no two parts on one worker
// at once. As many threads take part as the last recorded update took. The order of the parts is not said.
func (e *Engine[X]) Parallel(parts int, part func(i, w int)) { e.back.Parallel(parts, part) }

// Workers is how many parts of Parallel may run at once.
func (e *Engine[X]) Workers() int {
	n, _ := e.back.Info()
	return n
}

// Copy implements [nets.Engine].
func (e *Engine[X]) Copy(dst, src nets.Tensor) {
	d, s, ok := e.pair("Copy", dst, src)
	if !ok {
		return
	}
	if e.debug {
		e.trace.add("Copy to %v from %v", d, s)
	}
	e.back.Copy(d, s)
}

// Add implements [nets.Engine].
func (e *Engine[X]) Add(dst nets.Tensor, scale float64, src nets.Tensor) {
	d, s, ok := e.pair("Add", dst, src)
	if !ok {
		return
	}
	if e.debug {
		e.trace.add("Add to %v %g times %v", d, scale, s)
	}
	e.back.Add(d, scale, s)
}

// Lerp implements [nets.Engine].
func (e *Engine[X]) Lerp(dst, src nets.Tensor, t float64) {
	d, s, ok := e.pair("Lerp", dst, src)
	if !ok {
		return
	}
	if e.debug {
		e.trace.add("Lerp of %v towards %v by %g", d, s, t)
	}
	e.back.Lerp(d, s, t)
}

// TDTarget implements [nets.Engine].
func (e *Engine[X]) TDTarget(y, r, discount, q nets.Tensor) {
	const op = "TDTarget"
	ty, ok := e.take(op, "y", y)
	if !ok {
		return
	}
	tr, okR := e.alike(op, "r", r, ty)
	td, okD := e.alike(op, "discount", discount, ty)
	tq, okQ := e.alike(op, "q", q, ty)
	if !okR || !okD || !okQ {
		return
	}
	if e.debug {
		e.trace.add("TDTarget %v from %v, %v, %v", ty, tr, td, tq)
	}
	e.back.TDTarget(ty, tr, td, tq)
}

// LossCall is a loss with its operands, checked.
type LossCall[X Tensor] struct {
	State       *State
	Law         nets.Loss
	Value, Grad X // [agents]; the shape of the first arg
	Args        []X
	Agents, Per int // values of one agent in the first arg
	shapes      [][]int
}

// Loss implements [nets.Engine].
func (e *Engine[X]) Loss(l nets.Loss, value, grad nets.Tensor, args ...nets.Tensor) {
	if e.Stopped("Loss") {
		return
	}
	if l == nil {
		e.Fail("Loss", "no loss")
		return
	}
	c := &e.loss
	if !c.take(e, value, grad, args) {
		return
	}
	if err := nets.CheckLoss(l, c.Value.Shape(), c.shapes); err != nil {
		e.Fail("Loss", "%w", err)
		return
	}
	c.State, c.Law, c.Agents = e.State, l, c.shapes[0][0]
	c.Per = c.Grad.Len() / c.Agents
	if e.debug {
		e.trace.add("Loss %s to %v and %v from %v", describe(l), c.Value, c.Grad, c.Args)
	}
	e.back.Loss(c)
}

// take stores the operands of a loss, if they are this engine's tensors.
func (c *LossCall[X]) take(e *Engine[X], value, grad nets.Tensor, args []nets.Tensor) (ok bool) {
	c.Args, c.shapes = c.Args[:0], c.shapes[:0]
	for _, a := range args {
		x, ok := e.take("Loss", "an arg", a)
		if !ok {
			return false
		}
		c.Args, c.shapes = append(c.Args, x), append(c.shapes, x.Shape())
	}
	if c.Value, ok = e.take("Loss", "the value", value); !ok || len(args) == 0 {
		return ok
	}
	c.Grad, ok = e.alike("Loss", "the gradient", grad, c.Args[0])
	return ok
}

// Unknown stores the failure of a loss that the backend doesn't compute.
func (c *LossCall[X]) Unknown() {
	c.State.Fail("Loss", "%s (%T) is not computed by this engine, but a nets.Custom would be", c.Law.LossName(), c.Law)
}

// Custom calls a user's loss on the host with the args and with zeroed slices for value and gradient.
func (c *LossCall[X]) Custom(l nets.Custom) {
	value, grad, args := make([]float64, c.Agents), make([]float64, c.Grad.Len()), make([][]float64, len(c.Args))
	for i, a := range c.Args {
		args[i] = make([]float64, a.Len())
		a.Get64(args[i])
	}
	l.Func(value, grad, args, c.shapes)
	c.Value.Set64(value)
	c.Grad.Set64(grad)
}

// describe names a loss with its constants.
func describe(l nets.Loss) string {
	if c, ok := l.(nets.Custom); ok {
		return c.Name
	}
	return fmt.Sprintf("%s%+v", l.LossName(), l)
}
