package actor

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// NetOptions say how a network sees the agents of a kind.
type NetOptions struct {
	Kind *envs.Kind
	// NumEnvs is the number of environments whose agents act together.
	NumEnvs int
	// Mix and Joint are those of [Kind]. Squash puts a [nets.SquashedGaussian] behind the network.
	Mix           string
	Joint, Squash bool
}

// Net runs a network for all agents of a kind in several copies of an environment. A network of one agent has a row for
// each of them; one of all agents has their weights or shares them, and sees each agent in its own place. Net does not
// allocate once made.
type Net struct {
	Net nets.Net
	// In is the input, standardised and mixed, as the network takes it: [places, rows, width].
	In []float32

	e              nets.Engine
	work           nets.Work
	agents, copies int
	each           bool // the network has a place for each agent
	own            bool // each agent has weights of its own
	joint          bool // it sees all agents at once
	hides          bool // absent agents' observations become zeros: others see them
	width, outputs int  // of an agent
	in             []nets.Tensor
	out            []float32 // [places, rows, outputs]
	field          *Field    // with mix mean, else nil
	norm           *norm     // nil where observations stay as they are
	raw            []float32 // standardised observations in the order of the environment, for field
	params         []float32 // of Sync

	// With Squash: the last layer, its inputs and its noise.
	last     nets.Net
	lastWork nets.Work
	lastIn   []nets.Tensor
	eps      []float32
}

// NewNet returns memory to act with a network of zero weights; [Net.Sync] fills them.
func NewNet(e nets.Engine, arch nets.Arch, o NetOptions) (*Net, error) {
	net, err := e.NewNet(arch)
	if err != nil {
		return nil, err
	}
	_, sees := arch.(nets.MeanField)
	n := &Net{
		Net: net, e: e, agents: o.Kind.Agents, copies: o.NumEnvs, hides: sees, joint: o.Joint, each: arch.AgentCount() > 1,
		own:   arch.Groups() > 1,
		width: arch.Inputs()[0].Width, outputs: arch.Output().Width,
	}
	places, rows := arch.AgentCount(), o.NumEnvs*o.Kind.Agents/arch.AgentCount()
	if o.Joint {
		rows = o.NumEnvs
	}
	n.in = []nets.Tensor{e.NewTensor(places, rows, n.width)}
	if o.Joint {
		n.width, n.outputs = n.width/o.Kind.Agents, n.outputs/o.Kind.Agents
	}
	n.work, n.In = net.NewWork(rows), make([]float32, nets.Size(n.in[0]))
	if o.Mix == Mean {
		n.field = NewField(o.Kind)
	}
	if o.Squash {
		n.outputs /= 2
		if n.last, err = e.NewNet(nets.SquashedGaussian{Agents: places, Actions: n.outputs}); err != nil {
			return nil, err
		}
		n.lastWork, n.lastIn = n.last.NewWork(rows), []nets.Tensor{nil, e.NewTensor(places, rows, n.outputs)}
		n.eps = make([]float32, places*rows*n.outputs)
	}
	n.out = make([]float32, o.NumEnvs*o.Kind.Agents*n.outputs)
	n.Noise(nil)
	return n, n.Forward() // makes the engine's memory before the first step
}

// place is where the network has an agent, in units of an agent's numbers.
func (n *Net) place(copy, agent int) int {
	if n.each {
		return agent*n.copies + copy
	}
	return copy*n.agents + agent
}

// group is the number of an agent's weights.
func (n *Net) group(agent int) int {
	if n.own {
		return agent
	}
	return 0
}

// Row is what the network last gave for an agent: [outputs]. The caller may change it.
func (n *Net) Row(copy, agent int) []float32 {
	at := n.place(copy, agent) * n.outputs
	return n.out[at : at+n.outputs]
}

// See writes what the agents of all copies see, [copies, agents, width], to In.
func (n *Net) See(values []float32, active []bool) {
	w := len(values) / (n.copies * n.agents)
	if n.norm != nil && n.field != nil {
		n.raw = append(n.raw[:0], values...)
		for i, here := range active {
			if here {
				n.norm.apply(i%n.agents, n.raw[i*w:(i+1)*w])
			}
		}
		values = n.raw
	}
	for i := range n.copies {
		from := i * n.agents
		mine := envs.KindObservation{Values: values[from*w : (from+n.agents)*w], Active: active[from : from+n.agents]}
		if n.field != nil {
			n.field.Begin(&mine)
		}
		for j := range n.agents {
			dst := n.In[n.place(i, j)*n.width:][:n.width]
			switch {
			case n.field != nil:
				n.field.See(&mine, j, dst)
			case n.hides && !mine.Active[j]:
				clear(dst)
			default:
				copy(dst, mine.Values[j*w:])
				if n.norm != nil {
					n.norm.apply(j, dst)
				}
			}
		}
	}
}

// Hide zeroes what absent agents see in In; active is [copies, agents]. A network that sees all at once is not touched.
func (n *Net) Hide(active []bool) {
	if n.joint {
		return
	}
	for i, here := range active {
		if !here {
			clear(n.In[n.place(i/n.agents, i%n.agents)*n.width:][:n.width])
		}
	}
}

// Noise draws the noise of a squashed Gaussian for the next pass; without draws it is zero.
func (n *Net) Noise(draws *rng.Stream) {
	if draws == nil {
		clear(n.eps)
		return
	}
	for i := range n.eps {
		n.eps[i] = float32(draws.Norm())
	}
}

// Run computes the outputs for what the agents of all copies see.
func (n *Net) Run(values []float32, active []bool) error {
	if n.plain() {
		return n.forward(values)
	}
	n.See(values, active)
	return n.Forward()
}

// plain says whether the network takes observations as the environment lays them out.
func (n *Net) plain() bool {
	return n.norm == nil && n.field == nil && !n.hides && (!n.each || n.copies == 1)
}

// Forward computes the outputs for In.
func (n *Net) Forward() error { return n.forward(n.In) }

func (n *Net) forward(in []float32) error {
	n.in[0].Set(in)
	y := n.Net.Forward(n.work, n.in...)
	if n.last != nil {
		n.lastIn[1].Set(n.eps)
		n.lastIn[0] = y
		y = n.last.Forward(n.lastWork, n.lastIn...)
	}
	y.Get(n.out)
	if err := n.e.Err(); err != nil {
		return fmt.Errorf("acting: %w", err)
	}
	return nil
}

// backward takes the gradient of the outputs, [places, rows, outputs], and writes that of In to dx.
func (n *Net) backward(grad nets.Tensor, dx []float32) error {
	if n.last != nil {
		n.last.Backward(n.lastWork, grad, nets.Inputs)
		grad = n.lastWork.GradIn(0)
	}
	n.Net.Backward(n.work, grad, nets.Inputs)
	n.work.GradIn(0).Get(dx)
	return n.e.Err()
}

// Sync takes over the parameters of a net on engine train.
func (n *Net) Sync(train nets.Engine, from nets.Net) error {
	if n.params == nil {
		n.params = make([]float32, nets.Size(n.Net.Params()))
	}
	return learning.CopyParams(train, from, n.e, n.Net, n.params)
}

// norm standardises by statistics that do not change: (x − shift)·scale within ±clip.
type norm struct {
	width        int
	shift, scale []float32 // [agents, width]
	clip         float32
}

func newNorm(f *agents.PolicyFile, k *Kind, arch nets.Arch, on *envs.Kind) (*norm, error) {
	shift, scale, err := k.Statistics(f, arch, on)
	return &norm{on.Observation.Width(), shift, scale, float32(k.Clip)}, err
}

// Statistics are the numbers by which observations are standardised, each [agents, width].
func (k *Kind) Statistics(f *agents.PolicyFile, arch nets.Arch, on *envs.Kind) (shifts, scales []float32, err error) {
	if shifts, err = k.statistic(f, shift, arch, on.Agents, on.Observation.Width()); err != nil {
		return nil, nil, err
	}
	scales, err = k.statistic(f, scale, arch, on.Agents, on.Observation.Width())
	return shifts, scales, err
}

// statistic reads an array of the observations' statistics for n agents, [n, width]. Where weights are shared all rows
// of the file are equal, so that any number of agents can have them.
func (k *Kind) statistic(f *agents.PolicyFile, what string, arch nets.Arch, n, width int) ([]float32, error) {
	name := k.Array(what)
	x := f.Arrays[name].Data
	if arch.Groups() > 1 || k.Joint || len(x) == n*width {
		if len(x) != n*width {
			return nil, fmt.Errorf("array %q has %d numbers, want %d", name, len(x), n*width)
		}
		return x, nil
	}
	if len(x) == 0 || len(x)%width != 0 {
		return nil, fmt.Errorf("array %q has %d numbers, want rows of %d", name, len(x), width)
	}
	for i := width; i < len(x); i += width {
		if !slices.Equal(x[i:i+width], x[:width]) {
			return nil, fmt.Errorf("array %q has one row per agent, want equal rows with shared weights", name)
		}
	}
	return slices.Repeat(x[:width], n), nil
}

// scaled is number i of an agent's observation, standardised but not clipped.
func (n *norm) scaled(agent, i int, x float32) float32 {
	at := agent*n.width + i
	return float32((x - n.shift[at]) * n.scale[at])
}

// apply standardises an agent's observation in place.
func (n *norm) apply(agent int, row []float32) {
	for i, x := range row {
		row[i] = min(max(n.scaled(agent, i, x), -n.clip), n.clip)
	}
}

// Placed is the network's architecture for the agents of an environment. A network whose weights all agents share acts
// for any number of agents on any graph: the widths of observation and action are all that its parameters depend on.
// One with weights per agent, and one that controls all agents, belong to the agents they were trained for.
func (k *Kind) Placed(on *envs.Kind) (nets.Arch, error) {
	arch, n := k.Network.Arch, on.Agents
	if arch == nil {
		return nil, fmt.Errorf("head %q has no network, want one where there are several kinds of agents", k.Head)
	}
	trained := arch.AgentCount()
	obs, act := k.widths(on)
	in := arch.Inputs()
	if k.Mix != "" && k.Mix != Mean {
		return nil, fmt.Errorf("mix is %q, want %s or none", k.Mix, Mean)
	}
	if k.Joint && (len(in) != 1 || in[0].Width != obs*n || arch.Output().Width != act*n || trained != 1) {
		return nil, fmt.Errorf("mix: single controls all agents at once; this one takes %v and gives %d numbers, the "+
			"environment has %d observations and %d actions of %d agents (%s); only agent.shared: true with another mix "+
			"acts for any number of agents", in, arch.Output().Width, obs*n, act*n, n, on.Name)
	}
	if !k.Joint && (len(in) != 1 || in[0].Width != obs || arch.Output().Width != act) {
		return nil, fmt.Errorf("network takes %v and gives %d numbers per agent, the environment has observations of %d and "+
			"actions of %d per agent (%s)", in, arch.Output().Width, obs, act, on.Name)
	}
	switch m := arch.(type) {
	case nets.MLP:
		if m.Shared && !k.Joint {
			m.Agents = n
		}
		arch = m
	case nets.MeanField:
		switch near := Neighbours(on); {
		case m.Mix == nets.Joint:
			return nil, fmt.Errorf("network sees the observations of all agents, want one with mix %s or %s", nets.Attention,
				nets.Mean)
		case m.Shared:
			m.Agents, m.Neighbours = n, near
		case trained == n && !slices.EqualFunc(m.Neighbours, near, slices.Equal):
			return nil, fmt.Errorf("trained with separate weights for %d agents on another graph: agents %v were each "+
				"other's neighbours, here %v are; only a policy trained with agent.shared: true acts on any graph", trained,
				m.Neighbours, near)
		}
		arch = m
	default:
		return nil, fmt.Errorf("network is of kind %q, want %q or %q", arch.Kind(), nets.MLP{}.Kind(), nets.MeanField{}.Kind())
	}
	if _, sees := arch.(nets.MeanField); arch.AgentCount() != n && (arch.AgentCount() != 1 || sees) {
		return nil, fmt.Errorf("trained with separate weights for %d agents, the environment has %d (%s); only a policy "+
			"trained with agent.shared: true acts for any number of agents", trained, n, on.Name)
	}
	return arch, arch.Validate()
}

// widths are the numbers that the network sees and gives for an agent.
func (k *Kind) widths(on *envs.Kind) (in, out int) {
	in, out = on.Observation.Width(), max(on.Action.MaskWidth(), on.Action.Width())
	if k.Mix == Mean {
		in *= 2
	}
	if k.Head == Squashed {
		out *= 2
	}
	return in, out
}

// Neighbours lists which agents each agent sees: those that the environment names or, where it names none, all others.
func Neighbours(k *envs.Kind) [][]int {
	if k.Neighbours != nil {
		return k.Neighbours
	}
	out := make([][]int, k.Agents)
	for i := range out {
		out[i] = make([]int, 0, k.Agents-1)
		for j := range k.Agents {
			if j != i {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}
