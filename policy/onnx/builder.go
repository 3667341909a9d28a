package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// builder makes a graph operator by operator. Values go by their names.
type builder struct {
	model model.Graph
	// under begins the names of what follows, such as "layer0/".
	under string
	count int
	known map[string]string // names of constants by type, shape and content
}

func newBuilder(name string) *builder {
	return &builder{model: model.Graph{Name: name}, known: map[string]string{}}
}

// op adds an operator with one output, and returns the output's name.
func (b *builder) op(kind string, attributes []model.Attribute, in ...string) string {
	return b.opN(1, kind, attributes, in...)[0]
}

// opN adds an operator with n outputs, and returns their names.
func (b *builder) opN(n int, kind string, attributes []model.Attribute, in ...string) []string {
	b.count++
	name := fmt.Sprintf("%s%s_%d", b.under, strings.ToLower(kind), b.count)
	out := []string{name}
	for i := 1; i < n; i++ {
		out = append(out, fmt.Sprintf("%s.%d", name, i))
	}
	b.model.Nodes = append(b.model.Nodes, model.Node{Name: name, Op: kind, Inputs: in, Outputs: out, Attributes: attributes})
	return out
}

// do adds an operator without attributes.
func (b *builder) do(kind string, in ...string) string { return b.op(kind, nil, in...) }

// on adds an operator with one attribute that is a whole number.
func (b *builder) on(kind, attribute string, value int64, in ...string) string {
	return b.op(kind, []model.Attribute{{Name: attribute, Value: value}}, in...)
}

// input adds an input of the graph.
func (b *builder) input(name, doc string, t model.Type, shape ...model.Dim) string {
	b.model.Inputs = append(b.model.Inputs, model.Value{Name: name, Doc: doc, Type: t, Shape: shape})
	return name
}

// optional adds whole numbers [any, n] that a caller may leave out: they are a row of [oneGraph] then.
func (b *builder) optional(name, doc string, size, n model.Dim) {
	b.input(name, doc, model.Int64, size, n)
	all := int64(oneGraph)
	row := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, uint64(all)), n.Size)
	b.model.Constants = append(b.model.Constants, model.Tensor{Name: name, Type: model.Int64, Shape: []int{1, n.Size}, Data: row})
}

// output names a value as an output of the graph.
func (b *builder) output(name, value, doc string, t model.Type, shape ...model.Dim) {
	b.model.Nodes = append(b.model.Nodes, model.Node{
		Name: name, Op: "Identity", Inputs: []string{value}, Outputs: []string{name},
	})
	b.model.Outputs = append(b.model.Outputs, model.Value{Name: name, Doc: doc, Type: t, Shape: shape})
}

// constant adds a constant. One of the same type, shape and content is there once.
func (b *builder) constant(name string, t model.Type, shape []int, data []byte) string {
	key := fmt.Sprint(t, shape, string(data))
	if is, ok := b.known[key]; ok {
		return is
	}
	b.count++
	name = fmt.Sprintf("%s%s_%d", b.under, name, b.count)
	b.known[key] = name
	b.model.Constants = append(b.model.Constants, model.Tensor{Name: name, Type: t, Shape: shape, Data: data})
	return name
}

// floats is a constant of float32 numbers.
func (b *builder) floats(name string, shape []int, x []float32) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return b.constant(name, model.Float, shape, data)
}

// doubles is a constant of float64 numbers.
func (b *builder) doubles(name string, shape []int, x []float64) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return b.constant(name, model.Double, shape, data)
}

// bools is a constant of truth values.
func (b *builder) bools(name string, shape []int, x []bool) string {
	data := make([]byte, len(x))
	for i, v := range x {
		if v {
			data[i] = 1
		}
	}
	return b.constant(name, model.Bool, shape, data)
}

// ints is a constant vector of int64 numbers: a shape, axes or indices.
func (b *builder) ints(x ...int64) string {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return b.constant("ints", model.Int64, []int{len(x)}, data)
}

// whole is a constant whole number, without dimensions.
func (b *builder) whole(x int64) string {
	return b.constant("whole", model.Int64, nil, binary.LittleEndian.AppendUint64(nil, uint64(x)))
}

// number is a constant number, without dimensions.
func (b *builder) number(x float32) string { return b.floats("number", nil, []float32{x}) }

// double is a constant number in float64, without dimensions.
func (b *builder) double(x float64) string { return b.doubles("number", nil, []float64{x}) }

// cast converts to another type of elements.
func (b *builder) cast(x string, to model.Type) string { return b.on("Cast", "to", int64(to), x) }

// transpose orders the dimensions anew.
func (b *builder) transpose(x string, order ...int64) string {
	return b.op("Transpose", []model.Attribute{{Name: "perm", Value: order}}, x)
}

// reshape gives a value another shape; a 0 stays as it is and a −1 follows from the rest.
func (b *builder) reshape(x string, shape ...int64) string {
	return b.do("Reshape", x, b.ints(shape...))
}

// unsqueeze adds dimensions of size 1.
func (b *builder) unsqueeze(x string, axes ...int64) string {
	return b.do("Unsqueeze", x, b.ints(axes...))
}

// squeeze removes dimensions of size 1.
func (b *builder) squeeze(x string, axes ...int64) string { return b.do("Squeeze", x, b.ints(axes...)) }

// concat joins values along a dimension.
func (b *builder) concat(axis int64, in ...string) string {
	if len(in) == 1 {
		return in[0]
	}
	return b.on("Concat", "axis", axis, in...)
}

// slice is the part [from, to) of a dimension.
func (b *builder) slice(x string, axis, from, to int64) string {
	return b.do("Slice", x, b.ints(from), b.ints(to), b.ints(axis))
}

// split cuts a dimension into parts of these sizes.
func (b *builder) split(x string, axis int64, sizes ...int64) []string {
	if len(sizes) == 1 {
		return []string{x}
	}
	return b.opN(len(sizes), "Split", []model.Attribute{{Name: "axis", Value: axis}}, x, b.ints(sizes...))
}

// sum is the sum over a dimension, which stays with size 1.
func (b *builder) sum(x string, axis int64) string { return b.do("ReduceSum", x, b.ints(axis)) }

// within bounds values by low and high, which have their type.
func (b *builder) within(x, low, high string) string { return b.do("Min", b.do("Max", x, low), high) }

// round rounds to the nearest whole number, halves away from zero as Go's math.Round does; ONNX's Round takes halves to
// the even number. one and half are 1 and 0.5 in the type of x.
func (b *builder) round(x, one, half string) string {
	size := b.do("Abs", x)
	whole := b.do("Floor", size)
	up := b.do("GreaterOrEqual", b.do("Sub", size, whole), half)
	return b.do("Mul", b.do("Sign", x), b.do("Where", up, b.do("Add", whole, one), whole))
}

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
