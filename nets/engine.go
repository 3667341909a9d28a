package nets

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// DType is an engine's number format.
type DType uint8

// Number formats. Learners use Float32; Float64 is for proofs.
const (
	Float32 DType = iota
	Float64
)

func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

// Info says what an engine is and runs on.
type Info struct {
	Name    string `json:"name"`    // native, torch or gorgonia
	Device  string `json:"device"`  // cpu or cuda:N
	DType   string `json:"dtype"`   // float32 or float64
	Threads int    `json:"threads"` // that one operation may use
	Kernels string `json:"kernels"` // family whose results are equal bit for bit, for example "go" or "torch-2.11.0"
	Version string `json:"version"` // of the library beneath; empty for native
}

// Engine builds networks and tensors for one device and does arithmetic on them. Its operations run in
// the order in which they are called. One goroutine may call an engine's operations at a time, except Forward, which
// may run in several with a Work each.
type Engine interface {
	Info() Info

	// NewTensor returns a tensor of zeros.
	NewTensor(shape ...int) Tensor
	// NewNet builds a network with zero parameters; copy initial ones into Params (see [InitialParams]).
	NewNet(a Arch) (Net, error)
	// NewGraphNet does the same for networks over graphs.
	NewGraphNet(a Graph) (GraphNet, error)
	// NewAdam returns an optimiser of the parameters of one of this engine's nets.
	NewAdam(n Weights, c Adam) (Optimizer, error)

	// Loss writes the loss's value for each agent into value [agents], and its gradient by args[0] into grad, which
	// has the shape of args[0]. See the losses for their args.
	Loss(l Loss, value, grad Tensor, args ...Tensor)
	// TDTarget writes y = r + discount·q, element by element. The discount is γ, or γ to the power of the time that a
	// step took, and 0 where the episode terminated.
	TDTarget(y, r, discount, q Tensor)
	// Add does dst += scale·src.
	Add(dst Tensor, scale float64, src Tensor)
	// Copy does dst = src.
	Copy(dst, src Tensor)
	// Lerp does dst += t·(src − dst): the soft update of target parameters.
	Lerp(dst, src Tensor, t float64)

	// Record captures the operations of updates, to run them as one. A recorded update reads only tensors, draws
	// nothing and branches on nothing, so that each run does the same operations. Optimizer.Step is part of it,
	// Optimizer.Advance is called outside before each run. Several updates are independent: none reads what another
	// writes, nor do their [Custom] losses. An engine may run them side by side.
	Record(name string, updates ...func()) Recorded

	// Err returns the first failure since the last call of Err, and forgets it.
	Err() error
	// Close frees what the engine holds.
	Close() error
}

// Recorded is an update that can be run again and again.
type Recorded interface {
	// Run runs the update once and reports its failure.
	Run() error
}

// Tensor is a row-major array on an engine's device. Set and Get convert between the host's numbers and
// the engine's; a wrong length is an error of the engine. Shape must not be modified.
type Tensor interface {
	Shape() []int
	Set(src []float32)
	Get(dst []float32)
	Set64(src []float64)
	Get64(dst []float64)
}

// Size returns a tensor's number of values.
func Size(t Tensor) int { return product(t.Shape()) }

// Weights is the part of a network that learns.
type Weights interface {
	Arch() Arch
	// Params is [groups, size]; see [Layout]. Forward only reads it.
	Params() Tensor
	// Grads has the shape of Params. Backward adds to it.
	Grads() Tensor
	// ZeroGrads clears Grads.
	ZeroGrads()
}

// Net is a network on a device.
type Net interface {
	Weights
	// NewWork returns the memory of one pass over a batch. The same net may run in several Works before any goes
	// backward.
	NewWork(batch int) Work
	// Forward runs the net on one tensor of [agents, batch, width] per input port and returns [agents, batch,
	// out]. The result belongs to the Work and stays until its next Forward. The inputs must stay unchanged
	// until Backward. A caller that must not allocate keeps the slice of inputs and passes it with three dots:
	// Go allocates a new one for inputs listed one by one.
	Forward(w Work, in ...Tensor) Tensor
	// Backward takes the loss's gradient w.r.t. the output of the Work's last Forward. With Params it adds to
	// Grads, with Inputs it sets the Work's GradIn; with both it does both.
	Backward(w Work, gradOut Tensor, wrt Wrt)
}

// Work is the memory of one pass of a net.
type Work interface {
	Batch() int
	// GradIn is the gradient w.r.t. input port i, as the last Backward with Inputs left it. A recorded update may
	// leave out those that nobody has asked for by the time of its first run: ask within the update, or before.
	GradIn(i int) Tensor
}

// Wrt says by what a gradient is taken.
type Wrt uint8

// What Backward computes; Both is Params|Inputs.
const (
	Params Wrt = 1 << iota
	Inputs
	Both = Params | Inputs
)

// GraphNet is a network of the architecture [Graph] on a device. Sizes differ from batch to batch, so it can't
// be recorded.
type GraphNet interface {
	Weights
	// NewWork returns the memory of one pass; it grows with the largest batch it has seen.
	NewWork() GraphWork
	// Forward embeds the nodes of a sealed batch, made for this architecture, which must stay unchanged until
	// Backward. drop, where not nil, draws what Dropout zeroes (see [DropoutMask]): in training; nil leaves all
	// as it is.
	Forward(w GraphWork, b *GraphBatch, drop *rng.Key)
	// Head runs a head on the last Forward's embeddings and returns [1, rows, out]: rows are the batch's nodes
	// of the head's kind, or its graphs. given holds for each kind in Given a row of the batch for each graph,
	// or −1 for none (zeros); extra is [graphs, Extra]. Both must stay unchanged until Backward. The result
	// belongs to the Work and stays until the head runs again or the next Forward; a head's last run counts for
	// Backward. Parameters must not change between Forward and Backward.
	Head(w GraphWork, head int, given [][]int32, extra []float32) Tensor
	// Backward adds to Grads by what the heads that have run since Forward hold in their GradOut.
	Backward(w GraphWork)
}

// GraphWork is the memory of one pass of a graph network.
type GraphWork interface {
	// GradOut is the loss's gradient w.r.t. the head's last result, of its shape, zero until set. It is nil where
	// the head hasn't run since Forward.
	GradOut(head int) Tensor
	// Embedding is x of the nodes of a kind after the last layer, [1, rows, hidden].
	Embedding(kind int) Tensor
	// Pooled is the graphs' vectors, [1, graphs, kinds·hidden].
	Pooled() Tensor
}

// Optimizer changes a net's parameters by its gradients.
type Optimizer interface {
	// Advance counts one step and sets what depends on the count; it comes before Step, outside a recorded update.
	Advance()
	// Step changes the parameters by the gradients in Grads, which stay as they are.
	Step()
	// SetRate changes the learning rate.
	SetRate(rate float64)
	// Norms is [groups]: each group's gradient norm before clipping, as the last Step saw it.
	Norms() Tensor
	// Moments are the first and second moments, of Params' shape: with Steps, the state to save.
	Moments() (first, second Tensor)
	Steps() int64
	SetSteps(n int64)
}

// Adam is the optimiser of Kingma and Ba (2015), as PyTorch computes it:
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  p ← p − rate/(1−β₁ᵗ) · m/(√v/√(1−β₂ᵗ) + ε)
type Adam struct {
	Rate         float64 `json:"rate" yaml:"rate"`
	Beta1, Beta2 float64 `json:"-" yaml:"-"` // 0 stands for 0.9 and 0.999
	Epsilon      float64 `json:"-" yaml:"-"` // 0 stands for 1e-8
	// Clip bounds each group's gradient norm, where positive: g ← g · min(1, Clip/(‖g‖ + 1e-6)).
	Clip float64 `json:"clip,omitempty" yaml:"clip,omitempty"`
}

// WithDefaults fills the zero fields.
func (a Adam) WithDefaults() Adam {
	if a.Beta1 == 0 {
		a.Beta1 = 0.9
	}
	if a.Beta2 == 0 {
		a.Beta2 = 0.999
	}
	if a.Epsilon == 0 {
		a.Epsilon = 1e-8
	}
	return a
}

// Validate says which field is out of its range. Defaults must have been filled in.
func (a Adam) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"rate", a.Rate, a.Rate >= 0 && !math.IsInf(a.Rate, 0), "0 or more"},
		{"beta1", a.Beta1, a.Beta1 >= 0 && a.Beta1 < 1, "in [0, 1)"},
		{"beta2", a.Beta2, a.Beta2 >= 0 && a.Beta2 < 1, "in [0, 1)"},
		{"epsilon", a.Epsilon, a.Epsilon > 0, "more than 0"},
		{"clip", a.Clip, a.Clip >= 0, "0 (no clipping) or more"},
	} {
		if !f.ok {
			return fmt.Errorf("%s is %g, want %s", f.name, f.value, f.want)
		}
	}
	return nil
}
