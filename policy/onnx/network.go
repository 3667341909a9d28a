package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/model"
)

// params are a network's parameters: [groups, size] in the order of [nets.Layout].
type params struct {
	groups, size int
	slots        map[string]nets.Slot
	data         []float32
}

func newParams(a nets.Arch, data []float32) (*params, error) {
	slots, size := nets.Layout(a)
	if len(data) != a.Groups()*size {
		return nil, fmt.Errorf("the weights have %d numbers, the architecture has %d", len(data), a.Groups()*size)
	}
	p := &params{groups: a.Groups(), size: size, slots: map[string]nets.Slot{}, data: data}
	for _, s := range slots {
		p.slots[s.Name] = s
	}
	return p, nil
}

// of is a parameter's values in one group.
func (p *params) of(name string, group int) []float32 {
	s := p.slots[name]
	return p.data[group*p.size+s.Offset:][:s.Size()]
}

// weight is a matrix as a constant: [in, out], or [groups, in, out].
func (p *params) weight(b *builder, name string) string {
	return p.constant(b, name, p.slots[name].Shape)
}

// vector is a vector as a constant that is added to rows: [out], or [groups, 1, out].
func (p *params) vector(b *builder, name string) string {
	shape := p.slots[name].Shape
	if p.groups > 1 {
		shape = append([]int{1}, shape...)
	}
	return p.constant(b, name, shape)
}

func (p *params) constant(b *builder, name string, shape []int) string {
	if p.groups == 1 {
		return b.floats(name, shape, p.of(name, 0))
	}
	var all []float32
	for g := range p.groups {
		all = append(all, p.of(name, g)...)
	}
	return b.floats(name, append([]int{p.groups}, shape...), all)
}

// network adds a network over vectors. x and what it returns are [batch, agents, width]; under names its operators.
func (b *builder) network(under string, a nets.Arch, weights []float32, x string) (string, error) {
	p, err := newParams(a, weights)
	if err != nil {
		return "", err
	}
	before := b.under
	b.under = under + "/"
	defer func() { b.under = before }()
	switch a := a.(type) {
	case nets.MLP:
		return b.rows(p, x, func(x string) string { return b.layers(a, p, x) }), nil
	case nets.MeanField:
		if a.Others {
			return "", fmt.Errorf("the network takes the others' actions: it is a critic")
		}
		seen := b.mixed(a, p, x)
		return b.rows(p, seen, func(x string) string { return b.layers(a.MLP, p, x) }), nil
	}
	return "", fmt.Errorf("the network is of kind %q, want %q or %q", a.Kind(), nets.MLP{}.Kind(), nets.MeanField{}.Kind())
}

// rows applies f to x as its weights want it: [batch, agents, width] where they are shared, and [agents, batch, width]
// where each agent has its own.
func (b *builder) rows(p *params, x string, f func(string) string) string {
	if p.groups == 1 {
		return f(x)
	}
	return b.transpose(f(b.transpose(x, 1, 0, 2)), 1, 0, 2)
}

// layers adds an MLP's layers.
func (b *builder) layers(m nets.MLP, p *params, x string) string {
	for i := range len(m.Hidden) + 1 {
		name := fmt.Sprintf("layer%d", i)
		x = b.do("MatMul", x, p.weight(b, name+".weight"))
		x = b.do("Add", x, p.vector(b, name+".bias"))
		if i == len(m.Hidden) {
			break
		}
		x = b.activation(m.Activation, x)
		if m.Norm == nets.LayerNorm {
			x = b.norm(p, name, x)
		}
	}
	return b.activation(m.Final, x)
}

// activation adds an activation, none for an empty name.
func (b *builder) activation(name, x string) string {
	switch name {
	case nets.ReLU:
		return b.do("Relu", x)
	case nets.Tanh:
		return b.do("Tanh", x)
	case nets.Sigmoid:
		return b.do("Sigmoid", x)
	}
	return x
}

// norm adds layer normalisation with the parameters NAME.gain and NAME.offset.
func (b *builder) norm(p *params, name, x string) string {
	epsilon := model.Attribute{Name: "epsilon", Value: float32(nets.LayerNormEpsilon)}
	last := model.Attribute{Name: "axis", Value: int64(-1)}
	gain, offset := p.vector(b, name+".gain"), p.vector(b, name+".offset")
	if p.groups == 1 {
		return b.op("LayerNormalization", []model.Attribute{last, epsilon}, x, gain, offset)
	}
	// Runtimes want one gain for all rows.
	ones := slices.Repeat([]float32{1}, p.slots[name+".gain"].Size())
	x = b.op("LayerNormalization", []model.Attribute{last, epsilon}, x, b.floats("ones", []int{len(ones)}, ones))
	return b.do("Add", b.do("Mul", x, gain), offset)
}

// mixed adds what an agent sees, [batch, agents, seen]: its own features and those of the others ([nets.MeanField]).
func (b *builder) mixed(m nets.MeanField, p *params, x string) string {
	if m.Mix == nets.Joint {
		row := b.reshape(x, 0, 1, int64(m.SeenWidth()))
		return b.do("Expand", row, b.ints(1, int64(m.Agents), 1))
	}
	return b.concat(2, x, b.do("MatMul", b.weights(m, p, x), x))
}

// weights adds the share of each neighbour in what an agent sees: [batch, agents, agents], or [agents, agents] where
// they are constant.
func (b *builder) weights(m nets.MeanField, p *params, x string) string {
	n := m.Agents
	share, near := make([]float32, n*n), make([]float32, n*n)
	far := slices.Repeat([]float32{lowest}, n*n)
	for i, list := range m.Neighbours {
		for _, j := range list {
			share[i*n+j], near[i*n+j], far[i*n+j] = 1/float32(len(list)), 1, 0
		}
	}
	if m.Mix == nets.Mean {
		return b.floats("share", []int{n, n}, share)
	}
	project := func(name string) string {
		return b.rows(p, x, func(x string) string { return b.do("MatMul", x, p.weight(b, name)) })
	}
	score := b.do("MatMul", project("query.weight"), b.transpose(project("key.weight"), 0, 2, 1))
	mask := b.floats("near", []int{n, n}, near)
	if m.Score == nets.Squared {
		score = b.do("Mul", score, mask)
		score = b.do("Mul", score, score)
		return b.do("Div", score, b.do("Add", b.sum(score, 2), b.number(nets.SquaredOffset)))
	}
	score = b.do("Mul", score, b.number(float32(1/math.Sqrt(float64(m.Keys)))))
	score = b.on("Softmax", "axis", -1, b.do("Add", score, b.floats("far", []int{n, n}, far)))
	return b.do("Mul", score, mask) // an agent without neighbours sees zeros
}

// lowest is added to the scores that do not count.
const lowest = -1e30
