package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/nets"
)

// Catalog is what a program can train, face and compare.
type Catalog struct {
	Envs      []Env
	Learners  []Learner
	Baselines []Baseline
}

// Default returns the catalog that comes with Stoker. The caller owns it and may add rows.
func Default() *Catalog {
	return &Catalog{Envs: environments(), Learners: learners(), Baselines: rows()}
}

// Env is a row for an environment; [DefineEnv] makes it.
type Env struct {
	// ID is the versioned name, as in the environment's Spec.
	ID string
	// Doc says in a sentence what is decided in it.
	Doc string
	// Page documents it, as a path from the module's root.
	Page string
	// Source is the source of the configuration's package, as from //go:embed *.go: the comments of fields describe the
	// keys in the schema. Rows of this repository need none.
	Source fs.FS
	// Golden lists the recorded traces that the environment must repeat to the bit: of its defaults, and of forms whose
	// dynamics those do not reach.
	Golden []Golden
	// Short are the sections env and workload of a short, light form, in which proofs kill and resume runs of learners.
	// It may be empty.
	Short string
	// Presets are settings that work, by learner: a configuration has them where it leaves the keys out.
	Presets map[string]configs.Preset
	// DefaultBaselines is eval.baselines of a configuration that has none, as in "[fixed, {name: autoscaler, cpu: 0.4}]".
	DefaultBaselines string
	// Service shows policies that serve next to nothing; its Quantity is empty where none shows it.
	Service Service
	// Shows is the ID of the environment that this one shows in another form, as a vector in place of a graph; it has the same
	// configuration. Baselines made for that one play in it beside a policy in this one, under the same workloads.
	Shows string
	// Config returns a pointer to the environment's configuration, filled with defaults. It has yaml and json tags and,
	// where values can be wrong, a method Validate() error.
	Config func() any
	// New builds the environment from what Config returned, under a workload; problems that have none of the kind
	// ignore it.
	New func(config any, w workload.Config) (envs.Env, error)
}

// Service says how a policy shows that serves next to nothing, which training then reports.
type Service struct {
	// Quantity is what the environment reports as the share that is served, from 0 to 1. A policy with less than Least
	// has given up.
	Quantity string
	Least    float64
	// Nothing is the baseline that does as little as can be done: what giving up is compared with.
	Nothing configs.Choice
	// Advice says in a sentence which keys make service worth its price.
	Advice string
}

// Golden is a recorded trace.
type Golden struct {
	// File is where the trace is kept, as a path from the module's root.
	File string
	// Set makes the recorded form of the defaults, as --set does: env.windows=3, workload.kind=poisson.
	Set []string
}

// Form is a way of learning, by what it keeps.
type Form struct {
	// Name is for people; Keys are the learner's keys that make it, as in a configuration.
	Name, Keys string
	// Envs are the ids of environments with a Short in which it learns.
	Envs []string
}

// Learner is a row for a learner; [DefineLearner] makes it.
type Learner struct {
	// Name stands in configurations and policy files.
	Name string
	// Doc says in a sentence how it learns, Page documents it (a path from the module's root).
	Doc, Page string
	// Source is as in [Env].
	Source fs.FS
	// Forms are the ways of learning whose runs proofs of exact resume kill, resume and damage.
	Forms []Form
	// Brief and Longer are the keys with which every form does all that it can in 16 steps, and in 400; Metric is
	// logged when it learns.
	Brief, Longer, Metric string
	// Config returns a pointer to the learner's configuration, filled with defaults.
	Config func() any
	// New makes a learner from what Config returned.
	New func(config any, c agents.Context) (agents.Learner, error)
	// Open makes a policy from its file, acting on engine act.
	Open func(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error)
}

// Kind says what a policy is, in the words of eval.json.
type Kind string

// Kinds of policies.
const (
	Learned   Kind = "learned"
	Heuristic Kind = "heuristic"
	// Oracle knows the future or the world's own state; it bounds what can be had.
	Oracle Kind = "oracle"
)

// Baseline is a row for a policy that is not learned; [DefinePolicy], [DefineTuner] and [DefinePlanner] make it.
type Baseline struct {
	// Name stands in configurations and on the command line.
	Name string
	// Doc says in a sentence what it does, Page documents it (a path from the module's root).
	Doc, Page string
	// Source is as in [Env].
	Source fs.FS
	Kind   Kind
	// Envs are the ids of the environments for which it is made; nil stands for all.
	Envs   []string
	Config func() any
	// New makes the baseline for an environment such as env, from what Config returned.
	New func(config any, env envs.Env) (rollout.Actor, error)
	// Dial is what trades its objective against its constraint; without a key there is none.
	Dial Dial
	// Space is what stoker search varies, from what Config returned; nil where there is nothing to search for. [Searched]
	// sets it.
	Space func(config any, env envs.Env) (*crossentropy.Space, error)
}

// Dial is the key of a baseline's configuration that trades the objective against the constraint, as autoscaler's cpu does.
type Dial struct {
	Key string
	// Values are played by stoker eval beside the configured one, to draw the baseline's frontier; none where that takes long.
	Values []float64
}

// In reports whether the baseline is made for the environment of an id.
func (r *Baseline) In(id string) bool { return r.Envs == nil || slices.Contains(r.Envs, id) }

// Env returns the environment of an id.
func (c *Catalog) Env(id string) (Env, error) {
	return find("environment", id, c.Envs, func(e Env) string { return e.ID })
}

// PlaysIn returns the ID of the environment in which a baseline plays beside policies in the one of id: that one, or the one
// that it shows; empty where the baseline is made for neither.
func (c *Catalog) PlaysIn(r Baseline, id string) string {
	e, _ := c.Env(id) // an unknown environment shows no other
	switch {
	case r.In(id):
		return id
	case e.Shows != "" && r.In(e.Shows):
		return e.Shows
	}
	return ""
}

// Learner returns the learner of a name.
func (c *Catalog) Learner(name string) (Learner, error) {
	return find("agent", name, c.Learners, func(l Learner) string { return l.Name })
}

// Baseline returns the baseline of a name.
func (c *Catalog) Baseline(name string) (Baseline, error) {
	return find("policy", name, c.Baselines, func(r Baseline) string { return r.Name })
}

// Of returns the catalog with which an experiment was read; one that was read with none has that of [Default].
func Of(x *configs.Experiment) *Catalog {
	if c, ok := x.Catalog.(*Catalog); ok {
		return c
	}
	return Default()
}

// EnvConfig implements [configs.Catalog].
func (c *Catalog) EnvConfig(id string) (any, error) {
	e, err := c.Env(id)
	if err != nil {
		return nil, err
	}
	return e.Config(), nil
}

// Preset implements [configs.Presetter].
func (c *Catalog) Preset(env, agent string) configs.Preset {
	e, _ := c.Env(env) // an unknown environment has none; who asks for the environment hears of it
	return e.Presets[agent]
}

// DefaultBaselines implements [configs.Presetter].
func (c *Catalog) DefaultBaselines(env string) string {
	e, _ := c.Env(env)
	return e.DefaultBaselines
}

// AgentConfig implements [configs.Catalog].
func (c *Catalog) AgentConfig(name string) (any, error) {
	l, err := c.Learner(name)
	if err != nil {
		return nil, err
	}
	return l.Config(), nil
}

// BaselineConfig implements [configs.Catalog].
func (c *Catalog) BaselineConfig(name string) (any, error) {
	r, err := c.Baseline(name)
	if err != nil {
		return nil, err
	}
	return r.Config(), nil
}

// find returns the row of a name; an unknown one is an error that names the nearest and all that there are.
func find[E any](what, name string, all []E, of func(E) string) (E, error) {
	known := make([]string, len(all))
	for i, e := range all {
		if known[i] = of(e); known[i] == name {
			return e, nil
		}
	}
	list := strings.Join(slices.Sorted(slices.Values(known)), ", ")
	var none E
	if near := configs.Nearest(name, known); near != "" {
		return none, fmt.Errorf("no %s %q. Did you mean %q? There are: %s", what, name, near, list)
	}
	return none, fmt.Errorf("no %s %q; there are: %s", what, name, list)
}

var (
	envID   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_]*-v[0-9]+$`)
	rowName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
)

// Check reports rows that cannot be used: two of one name, a name that a configuration or a command line could not
// write, a part that is missing, tags of a configuration that are wrong. It names each row.
func (c *Catalog) Check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	seen := map[string]bool{}
	row := func(what, name, doc string, ok bool, rule string, config func() any, complete bool, define string) bool {
		key := what + " " + name
		switch {
		case seen[key]:
			add("two %ss are called %q: give one of them another name", what, name)
			return false
		case !ok:
			add("%s %q: want a name such as %s", what, name, rule)
		case doc == "":
			add("%s %q: Doc is empty, want a sentence", what, name)
		case config == nil || !complete:
			add("%s %q: the row is incomplete, make it with catalog.%s", what, name, define)
		default:
			if err := checkConfig(config()); err != nil {
				add("%s %q: %w", what, name, err)
			}
		}
		seen[key] = true
		return true
	}
	for _, e := range c.Envs {
		row("environment", e.ID, e.Doc, envID.MatchString(e.ID), "mine/Room-v1", e.Config, e.New != nil, "DefineEnv")
	}
	for _, l := range c.Learners {
		row("learner", l.Name, l.Doc, rowName.MatchString(l.Name), "climb, of a-z, 0-9, - and _", l.Config,
			l.New != nil && l.Open != nil, "DefineLearner")
	}
	for _, r := range c.Baselines {
		if !row("baseline", r.Name, r.Doc, rowName.MatchString(r.Name), "thermostat, of a-z, 0-9, - and _", r.Config,
			r.New != nil, "DefinePolicy, DefineTuner or DefinePlanner") {
			continue
		}
		for _, id := range r.Envs {
			if _, err := c.Env(id); err != nil {
				add("baseline %q: Envs: %w", r.Name, err)
			}
		}
	}
	return errors.Join(problems...)
}

// checkConfig checks what a row's Config returns.
func checkConfig(config any) error {
	t := reflect.TypeOf(config)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("its Config returns a %T, want a pointer to a struct", config)
	}
	if _, err := bounds.Fields(t); err != nil {
		return fmt.Errorf("configuration %s: %w", t.Elem(), err)
	}
	return nil
}

// NewEnv builds the environment of an id from a configuration of its type. Where the configuration names a policy that
// acts inside the environment (the scheduler of stoker/Pricing-v1), NewEnv looks it up among the baselines: environments
// know no policies.
func (c *Catalog) NewEnv(id string, config any, w workload.Config) (envs.Env, error) {
	e, err := c.Env(id)
	if err != nil {
		return nil, err
	}
	p, ok := config.(*pricing.Config)
	if id != pricing.ID || !ok || p.Scheduler == pricing.ARMSName {
		return e.New(config, w)
	}
	// Other mistakes in the configuration are reported first.
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	r, err := find("scheduler", p.Scheduler, c.schedulers(), func(r Baseline) string { return r.Name })
	if err != nil {
		return nil, fmt.Errorf("%s: scheduler: %w", id, err)
	}
	env, err := pricing.Compose(*p, w, func(s *pricing.Slots) (envs.Policy, error) {
		a, err := r.New(r.Config(), s)
		return a.Policy, err
	})
	if err != nil {
		return nil, err
	}
	return env, nil
}

// schedulers are the baselines that can act inside stoker/Pricing-v1.
func (c *Catalog) schedulers() []Baseline {
	return slices.DeleteFunc(slices.Clone(c.Baselines), func(r Baseline) bool {
		return !slices.Contains(r.Envs, pricing.SlotsID)
	})
}
