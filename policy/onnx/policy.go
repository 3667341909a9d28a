package onnx

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/firm"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// Extension is the end of a model's name.
const Extension = ".onnx"

// Keys of a model's metadata.
const (
	// KeyDigest is the SHA-256 of the bundle that the model was made from, in hexadecimal digits.
	KeyDigest = "stoker.digest"
	// KeySpec is the bundle's spec, KeyAgent the name of the agent that learned.
	KeySpec  = "stoker.spec"
	KeyAgent = "stoker.agent"
)

// Write returns a bundle's policy as an ONNX model. The same bundle gives the same bytes.
func Write(f *bundle.File) ([]byte, error) {
	m, err := build(f)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return m.Append(nil)
}

func build(f *bundle.File) (*model.Model, error) {
	spec, err := envs.DecodeSpec(f.Spec, never)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Encode(f)
	if err != nil {
		return nil, err
	}
	stored := &agents.PolicyFile{Agent: f.Agent.Name, EnvID: f.Agent.Env, Description: f.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range f.Arrays {
		stored.Arrays[name] = agents.Array(a)
	}
	p := &policy{builder: newBuilder("policy"), file: stored, spec: spec}
	if p.units, err = platformUnits(&f.Environment); err != nil {
		return nil, err
	}
	if err := p.write(); err != nil {
		return nil, fmt.Errorf("%s: policy of %s: %w", spec.ID, f.Agent.Name, err)
	}
	text, err := compact(f.Spec)
	if err != nil {
		return nil, err
	}
	return &model.Model{
		Producer: "stoker", Doc: "The deterministic policy of " + f.Agent.Name + " for " + spec.ID + ". " + spec.Doc,
		Metadata: []model.Entry{{Key: KeyDigest, Value: bundle.Digest(b)}, {Key: KeyAgent, Value: f.Agent.Name},
			{Key: KeySpec, Value: text}},
		Graph: p.model,
	}, nil
}

// never stands for dependent masks: in a model they are tables, and inputs.
func never(*envs.Spec, int) (func(*envs.KindObservation, int, []float32, []bool) error, error) {
	return func(*envs.KindObservation, int, []float32, []bool) error {
		return errors.New("the masks are inputs of the model")
	}, nil
}

// platformUnits says what the actions of the sizing environments stand for; nil for others, whose actions are in the
// platform's units. The ends of the ranges are what the environment's own code makes of actions of 0 and of 1.
func platformUnits(e *bundle.Environment) (*units, error) {
	if e.ID != sizing.ID && e.ID != sizing.CountedID {
		return nil, nil //nolint:nilnil // there is nothing to convert, and nothing is wrong
	}
	o, err := sizing.OpenObserver(e.ID, e.Config, e.Workload)
	if err != nil {
		return nil, err
	}
	u := &units{columns: []column{
		{"cores", "of each instance", false, 1e-3}, {"MB", "of each instance", false, 1},
		{"replicas", "instances", true, 1}, {"concurrency", "requests at once in an instance", true, 1},
	}}
	act := envs.NewAction(o.Spec())
	ends := make([]sizing.Settings, o.Spec().Kinds[0].Agents)
	for _, end := range []struct {
		at float32
		to *[][]float64
	}{{0, &u.low}, {1, &u.high}} {
		for i := range act.Kinds[0] {
			act.Kinds[0][i] = end.at
		}
		if err := o.Settings(act, ends); err != nil {
			return nil, err
		}
		for _, s := range ends {
			r := s.Resources()
			*end.to = append(*end.to, []float64{float64(r.CPU), float64(r.Memory), float64(r.Replicas), float64(r.Concurrency)})
		}
	}
	return u, nil
}

// compact is a JSON text without spaces.
func compact(text json.RawMessage) (string, error) {
	b, err := json.Marshal(text)
	return string(b), err
}

// policy is a trained policy on its way to a model.
type policy struct {
	*builder
	file *agents.PolicyFile
	spec *envs.Spec
	// units says what continuous actions stand for on the platform; nil where actions are in its units already.
	units *units
}

// write adds the policy's inputs, operators and outputs.
func (p *policy) write() error {
	if p.file.Agent == firm.Name {
		return p.firm()
	}
	if !actor.Describes(p.file.Description) {
		return fmt.Errorf("the description is none of format %s (%q), want a policy that package actor makes", actor.Format,
			p.file.Agent)
	}
	d, err := actor.Read(p.file, p.spec)
	if err != nil {
		return err
	}
	if k := &d.Kinds[0]; len(d.Kinds) == 1 && k.Head == actor.Held {
		return p.held(k)
	} else if len(d.Kinds) == 1 && actor.IsGraph(k.Network) {
		return p.graph(k)
	}
	for i := range d.Kinds {
		if err := p.kind(i, &d.Kinds[i]); err != nil {
			return fmt.Errorf("%s: %w", d.Kinds[i].Name, err)
		}
	}
	return nil
}

// outputs is the number of scores that a network gives for an agent of a kind: one for each choice or component.
func outputs(k *envs.Kind) int {
	if n := k.Action.MaskWidth(); n > 0 {
		return n
	}
	return k.Action.Width()
}

// vectors are the inputs of a kind of agents that see vectors.
type vectors struct {
	kind *envs.Kind
	// prefix begins the names of the kind's inputs and outputs.
	prefix string
	// seen is what agents see, [batch, agents, width], standardised where the policy does that.
	seen string
	// raw is what the caller gives, here says who is present, [batch, agents, 1].
	raw, here string
	// mask is [batch, agents, choices], empty where there is none; legal are the tables of dependent masks.
	mask  string
	legal []string
}

// prefix begins the names of a kind's inputs and outputs: nothing where there is one kind alone.
func prefix(s *envs.Spec, kind int) string {
	if len(s.Kinds) == 1 {
		return ""
	}
	return s.Kinds[kind].Name + "."
}

// batch is the dimension of observations that are decided together.
func batch() model.Dim { return model.Dim{Name: "batch"} }

// vectors adds the inputs of a kind.
func (p *policy) vectors(kind int) (*vectors, error) {
	k := &p.spec.Kinds[kind]
	w := k.Observation.Width()
	if w == 0 {
		return nil, fmt.Errorf("%s see %v, want vectors", k.Name, k.Observation)
	}
	v := &vectors{kind: k, prefix: prefix(p.spec, kind)}
	fixed := func(sizes ...int) []model.Dim { return append([]model.Dim{batch()}, model.Fixed(sizes...)...) }
	v.raw = p.input(v.prefix+"observation", "what each "+k.Name+" sees, as it is", model.Float, fixed(k.Agents, w)...)
	active := p.input(v.prefix+"active", "which "+k.Name+"s are present", model.Bool, fixed(k.Agents)...)
	v.here = p.unsqueeze(active, 2)
	switch n := k.Action.MaskWidth(); {
	case n > 0 && k.MaskAfter != nil:
		for c, shape := range tables(k) {
			v.legal = append(v.legal, p.input(v.prefix+"legal."+component(k, c), tableDoc(k, c), model.Bool,
				fixed(append([]int{k.Agents}, shape...)...)...))
		}
	case n > 0:
		v.mask = p.input(v.prefix+"mask", "which choices are legal, component by component", model.Bool,
			fixed(k.Agents, n)...)
	}
	var err error
	v.seen, err = p.standardised(kind, v)
	return v, err
}

// standardised adds the statistics of observations, [package normalise]'s arrays, where the policy has them.
func (p *policy) standardised(kind int, v *vectors) (string, error) {
	name := func(what string) string { return fmt.Sprintf("normalise.%d.%s", kind, what) }
	clip, ok := p.file.Arrays[name("clip")]
	if !ok {
		return v.raw, nil
	}
	w := v.kind.Observation.Width()
	shift, scale := p.file.Arrays[name("shift")].Data, p.file.Arrays[name("scale")].Data
	if len(clip.Data) != 1 || len(shift) != w || len(scale) != w {
		return "", fmt.Errorf("arrays %q, %q and %q have %d, %d and %d numbers, want %d, %d and 1", name("shift"),
			name("scale"), name("clip"), len(shift), len(scale), len(clip.Data), w, w)
	}
	p.under = "normalise/"
	defer func() { p.under = "" }()
	x := p.affine(v.raw, p.floats("shift", []int{w}, shift), p.floats("scale", []int{w}, scale), clip.Data[0])
	return p.do("Where", v.here, x, v.raw), nil
}

// affine is (x − shift)·scale within ±clip.
func (p *policy) affine(x, shift, scale string, clip float32) string {
	x = p.do("Mul", p.do("Sub", x, shift), scale)
	return p.within(x, p.number(-clip), p.number(clip))
}

// give names a kind's outputs: actions [batch, agents, components], in the platform's units, and scores [batch, agents,
// scores].
func (p *policy) give(v *vectors, action, scores, about string) {
	k := v.kind
	columns, width := k.Action.Width(), outputs(k)
	action = p.platform(action, columns)
	if p.units != nil {
		columns = len(p.units.columns)
	}
	of := func(n int) []model.Dim { return []model.Dim{batch(), {Size: k.Agents}, {Size: n}} }
	p.output(v.prefix+"action", p.do("Where", v.here, action, p.number(0)), p.actionDoc(k), model.Float, of(columns)...)
	p.output(v.prefix+"scores", scores, about, model.Float, of(width)...)
}

// What scores are.
const (
	scoresOfChoices = "the network's score of each choice, legal or not"
	scoresOfNumbers = "the action as the environment takes it, before it is rounded to whole numbers"
)

// kind adds the policy of one kind of agents that see vectors.
func (p *policy) kind(i int, k *actor.Kind) error {
	v, y, err := p.network(i, k)
	if err != nil {
		return err
	}
	switch k.Head {
	case actor.Softmax, actor.Values:
		p.give(v, p.choose(v, y), y, scoresOfChoices)
		return nil
	case actor.Gumbel:
		scores := y
		if v.mask != "" { // as the agent does it: without a legal choice the largest score still wins
			y = p.do("Add", y, p.do("Where", v.mask, p.number(0), p.number(actor.Illegal)))
			v.mask = ""
		}
		p.give(v, p.choose(v, y), scores, scoresOfChoices)
		return nil
	}
	b, ok := v.kind.Action.(envs.Box)
	if !ok {
		return fmt.Errorf("head %q does not give actions of %v", k.Head, v.kind.Action)
	}
	t := model.Float
	switch k.Head {
	case actor.Interval:
		y = p.spread(b, y)
	case actor.Squashed:
		p.under = "action/"
		mean := p.do("Tanh", p.slice(y, 2, 0, int64(b.Width())))
		y = p.spread(b, p.do("Mul", p.do("Add", mean, p.number(1)), p.number(0.5)))
	case actor.Gaussian:
		y, t = p.bounded(b, y, k.Bounds == actor.Squash), model.Double
	default:
		return fmt.Errorf("head is %q, which gives no actions of %v", k.Head, b)
	}
	action, scores := p.numbers(b, y, t)
	p.give(v, action, scores, scoresOfNumbers)
	return nil
}

// network adds a kind's inputs and its network, whose outputs are [batch, agents, outputs].
func (p *policy) network(i int, k *actor.Kind) (*vectors, string, error) {
	v, err := p.vectors(i)
	if err != nil {
		return nil, "", err
	}
	on := v.kind
	file, k, err := k.Regrouped(p.file, on)
	if err != nil {
		return nil, "", err
	}
	arch, err := k.Placed(on)
	if err != nil {
		return nil, "", err
	}
	n, w, x := on.Agents, on.Observation.Width(), v.seen
	if k.Joint { // one agent that sees and does what all do
		n, w = 1, n*w
		x = p.reshape(x, 0, 1, int64(w))
	}
	if k.Clip > 0 {
		shift, scale, err := k.Statistics(file, arch, on)
		if err != nil {
			return nil, "", err
		}
		p.under = v.prefix + "standardise/"
		x = p.affine(x, p.floats("shift", []int{n, w}, shift), p.floats("scale", []int{n, w}, scale), float32(k.Clip))
		p.under = ""
	}
	if _, sees := arch.(nets.MeanField); sees || k.Clip > 0 && !k.Joint {
		x = p.do("Where", v.here, x, p.number(0))
	}
	if k.Mix == actor.Mean {
		x = p.others(v, x)
	}
	y, err := p.builder.network(v.prefix+"network", arch, file.Arrays[k.Array("network")].Data, x)
	if err != nil {
		return nil, "", fmt.Errorf("array %q: %w", k.Array("network"), err)
	}
	if k.Joint {
		y = p.reshape(y, 0, int64(on.Agents), int64(arch.Output().Width/on.Agents))
	}
	return v, y, nil
}

// others appends to what each agent sees the mean over the other agents that are present; zeros for an agent that is
// alone or absent. Sums are in float64.
func (p *policy) others(v *vectors, seen string) string {
	p.under = v.prefix + "others/"
	defer func() { p.under = "" }()
	here := p.cast(v.here, model.Double)
	// A product with here would keep a NaN of an absent agent.
	x := p.cast(p.do("Where", v.here, seen, p.number(0)), model.Double)
	others := p.do("Sub", p.sum(here, 1), p.double(1)) // how many
	mean := p.do("Div", p.do("Sub", p.sum(x, 1), x), p.do("Max", others, p.double(1)))
	some := p.do("And", v.here, p.do("GreaterOrEqual", others, p.double(1)))
	return p.concat(2, seen, p.do("Where", some, p.cast(mean, model.Float), p.number(0)))
}

// held adds one action for all that is seen.
func (p *policy) held(k *actor.Kind) error {
	v, err := p.vectors(0)
	if err != nil {
		return err
	}
	a, w := p.file.Arrays[k.Array("action")].Data, v.kind.Action.Width()
	if len(a) != v.kind.Agents*w {
		return fmt.Errorf("array %q has %d numbers, want %d", k.Array("action"), len(a), v.kind.Agents*w)
	}
	if v.kind.Action.MaskWidth() > 0 {
		return fmt.Errorf("a held action of %v has no scores, want a Box", v.kind.Action)
	}
	each := p.do("Where", v.here, p.floats("held", []int{1, v.kind.Agents, w}, a), p.number(0))
	p.give(v, each, each, scoresOfNumbers)
	return nil
}
