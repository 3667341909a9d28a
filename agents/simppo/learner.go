// Package simppo is mean-field proximal policy optimisation in which agents come and go, after SIMPPO (Qiu et al., SoCC
// 2022): every function has a policy and a value of its own, which see the function and a virtual agent in place of all
// others, and what one function has learned stays with its name.
//
// Learning is that of package ppo with weights of each agent's own and mix mean: the virtual agent sees the mean of what
// the others see, which holds their last actions. All functions begin with the same weights. A policy or a run that is
// taken to a workflow with other functions keeps the weights of those that it knows, bit for bit; a new function begins
// with the mean of the others' weights. With learn: new only new functions learn then.
package simppo

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// Who learns after weights were taken over from another run.
const (
	// All: every function.
	All = "all"
	// New: only functions that the other run did not know; the others keep their weights bit for bit.
	New = "new"
)

// Config configures the learner.
type Config struct {
	// Learn says which functions learn where a run begins with another run's weights (--init-from): all, or new, which are
	// those that the other run did not know.
	Learn string `yaml:"learn" json:"learn" oneof:"all|new"`

	// Hidden lists the widths of the hidden layers, of the policy and of the value.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// Rollout is the number of steps of each copy of the environment between two updates.
	Rollout int `yaml:"rollout" json:"rollout" range:"[1,2^24]"`
	// Epochs is how often an update goes through the rollout, in Minibatches parts of equal size, shuffled each time.
	Epochs      int `yaml:"epochs" json:"epochs" range:"[1,2^20]"`
	Minibatches int `yaml:"minibatches" json:"minibatches" range:"[1,2^24]"`
	// Lambda is λ of generalised advantage estimation, Gamma the discount per step.
	Lambda float64 `yaml:"lambda" json:"lambda" range:"[0,1]"`
	Gamma  float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// RewardScale multiplies rewards before learning.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`
	// ClipRange is ε: the ratio π/π_old has no gradient where it is beyond 1 ± ε and would go on.
	ClipRange float64 `yaml:"clip_range" json:"clip_range" range:"(0,1e6]"`
	// Entropy is the coefficient of the policy's entropy in what is maximised.
	Entropy float64 `yaml:"entropy" json:"entropy" range:"[0,1e6]"`
	// Rate is Adam's learning rate. Anneal is the fraction of it that is gone at the end of the planned training.
	Rate   float64 `yaml:"rate" json:"rate" range:"(0,1]"`
	Anneal float64 `yaml:"anneal" json:"anneal" range:"[0,1]"`
	// Clip bounds the norm of each network's gradient; 0 does not clip.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// LogStd is the initial logarithm of the deviation of continuous actions, in halves of their range.
	LogStd float64 `yaml:"log_std" json:"log_std" range:"[-20,10]"`
}

// Default returns the rates and sizes of SIMPPO as FaaSConf's reconstruction has them.
func Default() Config {
	return Config{
		Learn: All, Hidden: []int{64, 64}, Activation: "tanh", Rollout: 128, Epochs: 10, Minibatches: 4, Lambda: 0.95,
		Gamma: 0.99, RewardScale: 1, ClipRange: 0.2, Entropy: 0.01, Rate: 3e-4, Clip: 0.5, LogStd: -1,
	}
}

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error { return bounds.Check(&c) }

// ppo is the learner inside.
func (c Config) ppo() ppo.Config {
	p := ppo.Default()
	p.Shared, p.Mix, p.ValueClip = false, ppo.Mean, false
	p.Hidden, p.Activation = c.Hidden, c.Activation
	p.Rollout, p.Epochs, p.Minibatches, p.Lambda, p.Gamma = c.Rollout, c.Epochs, c.Minibatches, c.Lambda, c.Gamma
	p.RewardScale, p.ClipRange, p.Entropy = c.RewardScale, c.ClipRange, c.Entropy
	p.Rate, p.Anneal, p.Clip, p.LogStd = c.Rate, c.Anneal, c.Clip, c.LogStd
	return p
}

// functions are the functions of a workflow, in the order of the weights.
type functions struct {
	names []string
	held  []bool // whose weights stay as they are
}

// of returns the functions of a kind. Agents without names are named by their numbers.
func of(k *envs.Kind) functions {
	return functions{names: actor.Members(k), held: make([]bool, k.Agents)}
}

// from returns for each function of f its number in names, −1 where it is new.
func (f *functions) from(names []string) []int {
	out := make([]int, len(f.names))
	for i, name := range f.names {
		out[i] = slices.Index(names, name)
	}
	return out
}

// State implements [state.Stater].
func (f *functions) State(c *state.Codec) {
	text, err := json.Marshal(f.names)
	c.Fail(err)
	state.Slice(c, &text)
	held := f.held
	state.Slice(c, &held)
	if !c.Loaded() {
		return
	}
	var names []string
	if err := json.Unmarshal(text, &names); err != nil || len(held) != len(names) {
		c.Fail(fmt.Errorf("functions %q, of which %d are held or not: %w", text, len(held), err))
		return
	}
	if f.names == nil { // another run's are read
		f.names, f.held = names, held
		return
	}
	if !slices.Equal(names, f.names) {
		c.Fail(fmt.Errorf("weights of %v, want those of %v", names, f.names))
		return
	}
	copy(f.held, held)
}

// Name is the learner's name in the table of agents and in policy files.
const Name = "simppo"

// Policy implements [agents.Learner]: that of package ppo, with a function's name beside its weights, so that it acts in
// any workflow whose functions see and do as many numbers. A function that it does not know has the mean of the others'
// weights.
func (l *Learner) Policy() (agents.Policy, error) { return l.PolicyAs(Name, l.functions.names) }

// Learner is mean-field PPO with weights by function.
type Learner struct {
	*ppo.Learner
	c         Config
	ctx       agents.Context
	functions functions
}

var _ agents.Learner = (*Learner)(nil)

// NewLearner returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment has several kinds of agents, or one that sees no vector.
func NewLearner(c Config, ctx agents.Context) (*Learner, error) {
	return check.Named(Name, build, c, ctx)
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	k, err := check.Vector(ctx.Spec)
	if err != nil {
		return nil, err
	}
	inside, err := ppo.New(c.ppo(), ctx)
	if err != nil {
		return nil, err
	}
	l := &Learner{Learner: inside, c: c, ctx: ctx, functions: of(k)}
	if err := l.Hold(l.functions.held); err != nil {
		return nil, err
	}
	// All functions begin as the first: only then is the mean of what they learn near each of them.
	s := agents.NewState()
	if err := l.Learner.Save(s); err != nil {
		return nil, err
	}
	return l, l.take(s, make([]int, k.Agents))
}

// take takes over weights: function i has those of function from[i] in s, or the mean of all where that is −1.
func (l *Learner) take(s *agents.State, from []int) error {
	t := agents.NewState()
	for name, a := range s.Weights {
		rows, err := actor.Rows(a, from)
		if err != nil {
			return fmt.Errorf("simppo: weights %q: %w", name, err)
		}
		t.Weights[name] = rows
	}
	return l.Learner.Adopt(t)
}

// functionsBlob is a state's entry for the functions.
const functionsBlob = "simppo.functions"

// parts is what a checkpoint holds beside the learner inside.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, nil)
	p.Blobs[functionsBlob] = &l.functions
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return saved.SaveBeside(l.Learner, l.parts(), s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error { return saved.LoadBeside(l.Learner, l.parts(), s) }

// AdoptPolicy refuses: values belong to functions, and a policy has none.
func (l *Learner) AdoptPolicy(*agents.PolicyFile) error {
	return errors.New("simppo: a policy has no values of its functions, want a full checkpoint")
}

// Adopt implements [agents.Learner]: functions that the other run knows take its weights, bit for bit; a new one begins
// with the mean of all that the other run knows. With learn: new the former do not learn.
func (l *Learner) Adopt(s *agents.State) error {
	b, err := s.GetBlob(functionsBlob)
	if err != nil {
		return fmt.Errorf("simppo: %w", err)
	}
	var other functions
	if err := state.Load(b, Name+": "+functionsBlob, &other); err != nil {
		return err
	}
	from := l.functions.from(other.names)
	held, fresh := make([]bool, len(from)), 0
	for i, f := range from {
		if held[i] = l.c.Learn == New && f >= 0; f < 0 {
			fresh++
		}
	}
	if l.c.Learn == New && fresh == 0 {
		return fmt.Errorf("simppo: learn is new, but the run whose weights are taken knows all of %v: nothing would learn; "+
			"want learn: all", l.functions.names)
	}
	if err := l.take(s, from); err != nil {
		return err
	}
	copy(l.functions.held, held)
	return nil
}
