package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// scene holds the agents' features twice: x as agents are to themselves, seen as the others see them. The two
// are one where the network has no port for the others' actions.
type scene[T core.Number] struct{ x, seen view[T] }

// of returns n features of agent j in sample b as agent i sees them.
func (s scene[T]) of(i, j, b, n int) []T {
	if i == j {
		return s.x.at(j, b, n)
	}
	return s.seen.at(j, b, n)
}

// mixer computes what agents see of the others.
type mixer[T core.Number] interface {
	// forward writes the mixtures.
	forward(s scene[T], mixture view[T])
	// backward takes the gradient w.r.t. the mixtures, adds to the parameters' gradients where params is set, and
	// adds to the gradients w.r.t. the features where inputs is set. It is not called with neither, nor with params
	// alone where nothing is learned.
	backward(s scene[T], dmixture view[T], d scene[T], params, inputs bool)
	// learns says that the mixture has parameters.
	learns() bool
}

// fieldPass is [nets.MeanField] at work: features, mixtures, then the layers over both.
type fieldPass[T core.Number] struct {
	m      nets.MeanField
	batch  int
	own    int // features of an agent
	layers *mlpWork[T]
	mix    mixer[T] // nil where the layers' input holds all there is to see
	fieldMemory[T]
	grad *fieldMemory[T] // the gradients w.r.t. the same; made by the first backward pass that needs it
}

// fieldMemory is the layers' input and what lies in it or beside it.
type fieldMemory[T core.Number] struct {
	input, mixture view[T]
	scene          scene[T]
}

func (n *net[T]) fieldPasses(m nets.MeanField) func(int, []T) pass[T] {
	layers := newMLP(n, m.MLP, m.SeenWidth())
	return func(batch int, out []T) pass[T] {
		p := &fieldPass[T]{m: m, batch: batch, own: m.OwnWidth(), layers: layers.newWork(batch, out)}
		p.fieldMemory = p.newMemory()
		switch {
		case m.Mix == nets.Mean:
			p.mix = &meanMix[T]{m.Neighbours, batch, p.own}
		case m.Mix == nets.Attention:
			p.mix = newAttention(n, m, batch)
		case m.Others:
			p.mix = &jointMix[T]{m.Agents, batch, p.own}
		}
		return p
	}
}

// newMemory lays out the input of the layers:
//
//	Attention, Mean:      [agents, batch, 2·own], features in the first half and mixtures in the second
//	Joint:                [batch, agents·own], one matrix for all agents, with the features in it
//	Joint with Others:    [agents, batch, agents·own], the features aside
func (p *fieldPass[T]) newMemory() fieldMemory[T] {
	agents, own, all := p.m.Agents, p.own, p.m.SeenWidth()
	alloc := func(n int) []T { return make([]T, n) }
	var f fieldMemory[T]
	switch {
	case p.m.Mix != nets.Joint:
		f.input = stacked(alloc(agents*p.batch*all), p.batch, all)
		f.mixture = f.input.from(own)
		f.scene.x = f.input
	case !p.m.Others:
		f.input = view[T]{alloc(p.batch * all), 0, all}
		f.scene.x = view[T]{f.input.data, own, all}
	default:
		f.input = stacked(alloc(agents*p.batch*all), p.batch, all)
		f.mixture = f.input
		f.scene.x = stacked(alloc(agents*p.batch*own), p.batch, own)
	}
	f.scene.seen = f.scene.x
	if p.m.Others {
		f.scene.seen = stacked(alloc(agents*p.batch*own), p.batch, own)
	}
	return f
}

func (p *fieldPass[T]) forward(in []*Tensor[T]) {
	join(p.scene.x, p.m.Agents, p.batch, in[:len(p.m.In)])
	if p.m.Others {
		join(p.scene.seen, p.m.Agents, p.batch, in[:len(p.m.In)-1])
		other := in[len(p.m.In):]
		join(p.scene.seen.from(p.own-other[0].Width()), p.m.Agents, p.batch, other)
	}
	if p.mix != nil {
		p.mix.forward(p.scene, p.mixture)
	}
	p.layers.forward(p.input)
}

func (p *fieldPass[T]) backward(_ []*Tensor[T], gradOut []T, gradIn []*Tensor[T], params bool) {
	inputs := gradIn != nil
	mixes := p.mix != nil && (inputs || params && p.mix.learns())
	if !inputs && !mixes {
		p.layers.backward(p.input, gradOut, view[T]{}, params)
		return
	}
	if p.grad == nil {
		m := p.newMemory()
		p.grad = &m
	}
	d := p.grad
	clear(d.input.data)
	p.layers.backward(p.input, gradOut, d.input, params)
	if p.m.Others {
		clear(d.scene.seen.data)
		if p.m.Mix == nets.Joint {
			clear(d.scene.x.data)
		}
	}
	if mixes {
		p.mix.backward(p.scene, d.mixture, d.scene, params, inputs)
	}
	if inputs {
		p.gather(gradIn)
	}
}

// gather splits the gradients w.r.t. the features into those w.r.t. the ports. Ports that are the same for the agent
// and for others get both.
func (p *fieldPass[T]) gather(gradIn []*Tensor[T]) {
	d := p.grad.scene
	ports := len(p.m.In)
	split(d.x, p.m.Agents, p.batch, gradIn[:ports])
	if !p.m.Others {
		return
	}
	at := 0
	for _, t := range gradIn[:ports-1] {
		w := t.Width()
		for i := range p.m.Agents {
			for b := range p.batch {
				axpy(1, d.seen.at(i, b, at+w)[at:], t.Data[(i*p.batch+b)*w:][:w])
			}
		}
		at += w
	}
	split(d.seen.from(at), p.m.Agents, p.batch, gradIn[ports:])
}

// meanMix is the mean field (Yang et al., 2018), with d_i the number of agent i's neighbours:
//
//	m_i = Σ_j x_j/d_i,  ∂L/∂x_j += ∂L/∂m_i/d_i
//
// An agent without neighbours sees zeros.
type meanMix[T core.Number] struct {
	neighbours [][]int
	batch, own int
}

func (m *meanMix[T]) learns() bool { return false }

func (m *meanMix[T]) forward(s scene[T], mixture view[T]) {
	for i, list := range m.neighbours {
		for b := range m.batch {
			out := mixture.at(i, b, m.own)
			clear(out)
			for _, j := range list {
				axpy(1/T(len(list)), s.of(i, j, b, m.own), out)
			}
		}
	}
}

func (m *meanMix[T]) backward(_ scene[T], dmixture view[T], d scene[T], _, _ bool) {
	for i, list := range m.neighbours {
		for b := range m.batch {
			g := dmixture.at(i, b, m.own)
			for _, j := range list {
				axpy(1/T(len(list)), g, d.of(i, j, b, m.own))
			}
		}
	}
}

// jointMix is what each agent sees of all, where it sees itself and the others by different ports:
//
//	m_i = [x̃_1, …, x_i, …, x̃_n],  ∂L/∂x_i = (∂L/∂m_i)_i,  ∂L/∂x̃_j = Σ_i≠j (∂L/∂m_i)_j
type jointMix[T core.Number] struct{ agents, batch, own int }

func (m *jointMix[T]) learns() bool { return false }

func (m *jointMix[T]) forward(s scene[T], mixture view[T]) {
	for i := range m.agents {
		for b := range m.batch {
			out := mixture.at(i, b, m.agents*m.own)
			for j := range m.agents {
				copy(out[j*m.own:], s.of(i, j, b, m.own))
			}
		}
	}
}

func (m *jointMix[T]) backward(_ scene[T], dmixture view[T], d scene[T], _, _ bool) {
	for i := range m.agents {
		for b := range m.batch {
			g := dmixture.at(i, b, m.agents*m.own)
			for j := range m.agents {
				axpy(1, g[j*m.own:][:m.own], d.of(i, j, b, m.own))
			}
		}
	}
}
