package tile

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// network is a network's parameters and gradients as they are used on tiles. It implements [core.Network].
type network struct {
	b             *Backend
	v             *core.Vectors[*Tensor]
	params, grads []float32
	shards        [][]float32 // gradients of each shard, zero between updates
}

// NewNet implements [core.Backend].
func (b *Backend) NewNet(v *core.Vectors[*Tensor]) (core.Network[*Tensor], error) {
	switch a := v.Arch.(type) {
	case nets.MLP, nets.MeanField, nets.GumbelSoftmax, nets.SquashedGaussian, nets.SoftValue:
		return b.network(v), nil
	default:
		return nil, fmt.Errorf("nets/native: NewNet: kind %q (%T) is not built by this engine", a.Kind(), a)
	}
}

// Learner returns what learns of a network of any kind: its gradients and its optimiser.
func (b *Backend) Learner(v *core.Vectors[*Tensor]) core.Learner[*Tensor] { return b.network(v) }

func (b *Backend) network(v *core.Vectors[*Tensor]) *network {
	return &network{b: b, v: v, params: v.Params.data, grads: v.Grads.data}
}

// ZeroGrads implements [core.Learner].
func (n *network) ZeroGrads() {
	if p := n.b.program; p != nil {
		p.zero(n)
		return
	}
	clear(n.grads)
}

// PerSample is the most values that one array of a pass holds for a sample. Where every agent sees all, the features are
// stored once for all agents.
func (n *network) PerSample() int {
	if a, ok := n.v.Arch.(nets.MeanField); ok && a.Mix == nets.Joint {
		return max(2*a.SeenWidth(), n.v.Widest())
	}
	return n.v.Agents * n.v.Widest()
}

// direct says that a segment's shards add to the gradients themselves: they divide agents, and each agent has
// parameters of its own.
func (n *network) direct(s *segment) bool { return s.byAgent && n.v.Groups == n.v.Agents }

// makeShards makes the memory of shards' gradients.
func (n *network) makeShards(shards int) {
	for len(n.shards) < shards {
		n.shards = append(n.shards, make([]float32, len(n.grads)))
	}
}

// param is one parameter of every group within the network's flat vectors.
type param struct {
	net          *network
	offset, size int
}

// param finds a parameter by its name in the layout.
func (n *network) param(format string, args ...any) param {
	s := n.v.Slot(format, args...)
	return param{n, s.Offset, s.Size()}
}

// value returns the parameter of an agent's group.
func (p param) value(agent int) []float32 { return p.net.params[p.start(agent):][:p.size] }

// in returns the parameter's part, for an agent's group, of a vector laid out like the network's parameters.
func (p param) in(v []float32, agent int) []float32 { return v[p.start(agent):][:p.size] }

func (p param) start(agent int) int {
	if p.net.v.Groups == 1 {
		agent = 0
	}
	return agent*p.net.v.Size + p.offset
}

// model is one kind of network at work on tiles of one size. Its stages do a pass; agents see each other's
// features, or each other's gradients, only between two stages.
type model interface {
	// memory returns what a pass stores of all agents in a tile.
	memory() *memory
	// stack is the network's layers, or nil.
	stack() *layers
	// forward and backward return the stages of a pass.
	forward(f *forwardStep) []stage
	backward(b *backwardStep) []stage
}

// newModel returns the model of a network on tiles of a number of lanes, and adds what memory it needs.
func (n *network) newModel(lanes int, need *scratchNeed) model {
	switch a := n.v.Arch.(type) {
	case nets.MLP:
		need.widest = max(need.widest, totalWidth(a.In))
		return newMLP(n, a, lanes)
	case nets.MeanField:
		need.widest = max(need.widest, a.SeenWidth())
		if a.Mix == nets.Joint {
			j := newJoint(n, a, lanes)
			if a.Shared && lanes > 1 {
				return &sharedJoint{*j}
			}
			return j
		}
		return newField(n, a, lanes, need)
	case nets.GumbelSoftmax:
		return &gumbel{g: a, k: n.b.kernels(lanes), lanes: lanes, width: a.Width()}
	case nets.SquashedGaussian:
		return &squashed{a, lanes}
	case nets.SoftValue:
		return &softValue{a.Agents}
	}
	return nil
}

func totalWidth(ports []nets.Port) int {
	n := 0
	for _, p := range ports {
		n += p.Width
	}
	return n
}

// memory is what a pass stores of all agents in a tile.
type memory struct {
	x, dx         []float32 // features, and the gradient w.r.t. them
	q, k          []float32 // of attention
	weights       []float32 // of neighbours, by agent
	rho           []float32 // gradients w.r.t. the scores, by the agent that is seen
	raw, divisors []float32 // of squared scores
	relaxed       []float32 // of Gumbel-softmax
	base          []float32 // what all agents have in common
}

// lifetime says how long the activations between a pass's layers are needed.
type lifetime uint8

const (
	untilOutput  lifetime = iota // until the agent's output is there
	untilAgent                   // until the agent has gone backward too
	untilTile                    // until the tile has gone through its segment
	untilForward                 // until the next forward pass
)
