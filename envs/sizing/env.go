package sizing

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// The environment's versioned names. They share all code and differ in the defaults of their configurations.
const (
	// ID is the published system: a refusal by starter spoils nothing ([Default]).
	ID = "stoker/Sizing-v2"
	// CountedID counts every refusal ([DefaultCounted]).
	CountedID = "stoker/Sizing-v3"
)

// IDs returns the environment's names.
func IDs() []string { return []string{ID, CountedID} }

// Window is the length of a window.
const Window = 30 * sim.Second

// Env is stoker/Sizing-v2 or stoker/Sizing-v3.
type Env struct {
	id     string
	cfg    Config
	app    *app
	source *workload.Source
	spec   *envs.Spec
	fresh  bool
	rates  perfmodel.Rates
	noise  []logNormal // of each function's work
	// observer makes the observations from meters.
	observer *flowObserver
	trace    func(purpose string, a, b, c uint64, value float64)

	fingerprint uint64 // of the configuration, for copies and saved states

	walk *serve.Walk
	sim  *sim.Sim // the walk's
	world
	demand, request serve.Namer // of draws; they follow from the keys
	// Buffers that hold nothing between calls.
	meter    sim.Meter
	meters   Meters // of the last window
	forecast float64
	wanted   []Resources
}

// keys name the draws of an episode.
type keys struct{ demand, request, window rng.Key }

// New returns stoker/Sizing-v2 with a configuration and a load. It reads the load's trace.
func New(c Config, w workload.Config) (*Env, error) { return open(ID, c, w) }

// NewCounted is New for stoker/Sizing-v3.
func NewCounted(c Config, w workload.Config) (*Env, error) { return open(CountedID, c, w) }

func open(id string, c Config, w workload.Config) (*Env, error) {
	source, err := workload.OpenFor(w, c.Serves)
	if err != nil {
		return nil, err
	}
	return NewWith(id, c, source)
}

// NewWith returns the environment of a name with a workload that is already open; several environments may share it.
func NewWith(id string, c Config, source *workload.Source) (*Env, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(c.Workflows) > 0 {
		return nil, bounds.Errorf("workflows", "is %v, want [] for one workflow", c.Workflows)
	}
	w, err := newFlowObserver(id, c, source.Closed())
	if err != nil {
		return nil, err
	}
	a := w.app
	e := &Env{id: id, cfg: c, app: a, observer: w, spec: w.spec, source: source, rates: c.Price.rates()}
	e.fresh = c.Protocol == Fresh || c.Protocol == Auto && source.Closed()
	if !source.Closed() {
		if have, need := 2*source.Minutes(), e.needed(); have < need {
			return nil, fmt.Errorf("windows and warmup take %d windows of 30 s, but the workload has %d minutes, %d windows",
				need, source.Minutes(), have)
		}
		if last := float64(2*source.Minutes()-e.needed()) / 2; c.Start > last {
			return nil, bounds.Errorf("start", "is %g, want at most %g, so that the episode ends within the workload", c.Start,
				last)
		}
	}
	if e.refused(slices.Repeat([]Resources{e.initial()}, a.flow.NumFunctions())) {
		return nil, bounds.Errorf("initial", "is %v, want a configuration within the platform's CPU and memory", c.Initial)
	}
	for i := range a.laws {
		e.noise = append(e.noise, newLogNormal(a.laws[i].CV*c.Noise.Request))
	}
	n := a.flow.NumFunctions()
	e.wanted, e.meters.Functions = make([]Resources, n), make([]FunctionMeters, n)
	e.world.init(a)
	if err := e.newWalk(); err != nil {
		return nil, err
	}
	e.dial = c.Reward.draw(0)
	h, load := fnv.New64a(), source.Config()
	fmt.Fprintf(h, "%s %s", state.Settings(c, Default()), load.Identity())
	e.fingerprint = h.Sum64()
	return e, nil
}

// slots is the number of windows in the load that a seed draws, in an open loop; needed the number that an episode
// takes.
func (e *Env) slots(seed uint64) int { return e.source.Drawn(seed).Minutes * 2 }
func (e *Env) needed() int           { return e.cfg.Windows + e.cfg.Warmup }

// Spec implements [envs.Env].
func (e *Env) Spec() *envs.Spec { return e.spec }

// Config returns the environment's configuration.
func (e *Env) Config() Config { return e.cfg }

// Range returns the range of a function's resources.
func (e *Env) Range() Range { return e.app.rng }

// Closed reports whether the load is closed-loop users.
func (e *Env) Closed() bool { return e.source.Closed() }

// Fresh reports whether every window is a new deployment.
func (e *Env) Fresh() bool { return e.fresh }

// QoS returns the thresholds of the current episode.
func (e *Env) QoS() QoS { return e.qos }

// Reset implements [envs.Env]. Options are users (a number of closed-loop users), start (the minute of the workload)
// and, where the reward has one, dial (a number).
func (e *Env) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	users, start, dial, err := e.options(seed, options)
	if err != nil {
		return err
	}
	if err := e.walk.Reset(seed); err != nil {
		return err
	}
	e.world.reset(seed)
	e.name()
	clear(e.meters.Functions)
	e.dial = dial
	e.load(users, start)
	for f := range e.wanted {
		e.inForce[f] = e.initial()
	}
	for range e.cfg.Warmup {
		if err := e.window(e.inForce); err != nil {
			return err
		}
	}
	e.started = true
	e.observe(obs)
	return nil
}

func newKeys(seed uint64) keys {
	return keys{
		demand: rng.New(seed, "sizing/demand"), request: rng.New(seed, "sizing/request"), window: rng.New(seed,
			"sizing/window"),
	}
}

// options returns the number of users, the first slot and the dial of an episode.
func (e *Env) options(seed uint64, options envs.Options) (users, slot int, dial float64, err error) {
	dial = e.cfg.Reward.draw(seed)
	k := rng.New(seed, "sizing/start")
	if e.source.Closed() {
		if users = e.walk.Users().Count(); len(e.cfg.Users) > 0 {
			users = e.cfg.Users[k.IntN(len(e.cfg.Users))]
		}
	} else if slot = int(e.cfg.Start * 2); e.cfg.Start < 0 {
		slot = k.IntN(e.slots(seed) - e.needed() + 1)
	}
	for name, v := range options {
		x, ok := number(v)
		switch {
		case name == "users" && e.source.Closed():
			if users = int(x); !ok || float64(users) != x || users < 1 || users > 1<<16 {
				return 0, 0, 0, fmt.Errorf("%s: option users is %v, want a whole number of 1 or more", e.id, v)
			}
		case name == "start" && !e.source.Closed():
			last := float64(e.slots(seed)-e.needed()) / 2
			if slot = int(x * 2); !ok || !(x >= 0 && x <= last) {
				return 0, 0, 0, fmt.Errorf("%s: option start is %v, want a minute from 0 to %g", e.id, v, last)
			}
		case name == "dial" && len(e.cfg.Reward.Dial) > 0:
			if dial = x; !ok || !(x > 0 && x <= 1e6) {
				return 0, 0, 0, fmt.Errorf("%s: option dial is %v, want a number above 0", e.id, v)
			}
		default:
			return 0, 0, 0, fmt.Errorf("%s: no option %q here, want users (in a closed loop), start (otherwise) or dial "+
				"(where env.reward.dial is given)", e.id, name)
		}
	}
	return users, slot, dial, nil
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// Step implements [envs.Env].
func (e *Env) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.started || e.ended {
		return fmt.Errorf("%s: the episode has ended or not begun, call Reset first", e.id)
	}
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return err
	}
	w := e.app.rng.Components()
	a := act.Kinds[0]
	for f := range e.wanted {
		e.wanted[f] = e.app.rng.Decode(a[f*w : (f+1)*w])
	}
	copy(e.action, a)
	if err := e.window(e.wanted); err != nil {
		return err
	}
	e.windows++
	e.ended = e.windows == e.cfg.Windows
	e.report(out)
	e.observe(obs)
	return nil
}

// Salt changes the draws of service times and instances from now on, but not the arrivals. A planner averages over
// several salts. The salt is part of the state, so CopyFrom overwrites it.
func (e *Env) Salt(salt uint64) {
	e.keys.demand, e.keys.request, e.keys.window = e.keys.demand.With(salt), e.keys.request.With(salt),
		e.keys.window.With(salt)
	e.name()
}

// Mute stops new requests from now on, so that a planner can simulate only the requests in flight. It is part of the
// state, as the salt is.
func (e *Env) Mute() { e.walk.Mute() }

// Hourly returns the price of a configuration in USD per hour, without execution times.
func (e *Env) Hourly(rs []Resources) float64 {
	var sum float64
	for _, r := range rs {
		sum += e.rates.Hourly(r.CPU, r.Memory, r.Replicas)
	}
	return sum
}

// NewEnv returns a new environment with the same configuration and workload, for a planner that tries actions on a copy
// made with CopyFrom.
func (e *Env) NewEnv() (*Env, error) { return NewWith(e.id, e.cfg, e.source) }

// TraceDraws implements [envs.DrawTracer].
func (e *Env) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) { e.trace = f }

// Functions returns the names of the workflow's functions, in the order of the agents.
func (e *Env) Functions() []string { return e.app.flow.Functions() }

// Fits reports whether all machines together can hold a configuration.
func (e *Env) Fits(rs []Resources) bool { return !e.refused(rs) }

// Machines is the number of machines. In a generated workflow it grows with the functions.
func (e *Env) Machines() int { return e.app.machines(&e.cfg.Platform) }

// Meters returns what the last observation was made from: the numbers that a platform would measure. They are those of
// this environment's own Reset or Step, not of one that it was copied from, and change with the next.
func (e *Env) Meters() *Meters { return &e.meters }

// Demand returns the expected work of each function for a request to the workflow, in core-seconds, in the functions'
// order.
func (e *Env) Demand() []float64 {
	demand := e.app.flow.FunctionExecutions()
	for f := range demand {
		demand[f] *= e.app.laws[f].Work
	}
	return demand
}

// PriceOf returns the price of an action in USD per hour, without execution times. It does not step the environment.
// Safe exploration (FaaSConf, §4.3) uses it.
func (e *Env) PriceOf(act *envs.Action) (float64, error) {
	if err := envs.CheckAction(e.spec, nil, act); err != nil {
		return 0, err
	}
	w, sum := e.app.rng.Components(), 0.0
	for a := act.Kinds[0]; len(a) > 0; a = a[w:] {
		r := e.app.rng.Decode(a[:w])
		sum += e.rates.Hourly(r.CPU, r.Memory, r.Replicas)
	}
	return sum, nil
}

// Resample draws the arrivals to come again, from another seed that follows from the episode's and from salt, under
// the same load. Requests in progress stay. A planner that knows the law of the arrivals, but not the arrivals, plans on
// copies with several salts. It is part of the state, as the salt of [Env.Salt] is. In a closed loop it does nothing:
// users send when a response has come.
func (e *Env) Resample(salt uint64) {
	if a := e.walk.Arrivals(); a != nil {
		a.Resample(rng.New(e.seed, "sizing/resample").With(salt).Uint64())
		e.walk.SeekTo(e.loadTime())
	}
}

// Continue is [Env.Resample] for a planner that does not know the rates of the coming minutes either: it draws them from
// a history of the workload, as [workload.Arrivals] has it. A copy with such arrivals is not saved.
func (e *Env) Continue(h *workload.History, salt uint64) {
	if a := e.walk.Arrivals(); a != nil {
		a.Continue(h, rng.New(e.seed, "sizing/resample").With(salt).Uint64(), e.loadTime())
		e.walk.SeekTo(e.loadTime())
	}
}

// Traces implements [envs.Traced].
func (e *Env) Traces() []string { return e.source.Traces() }

// TraceOf implements [envs.Traced].
func (e *Env) TraceOf(seed uint64) int { return e.source.Drawn(seed).Load }

// History is that of the workload, nil in a closed loop.
func (e *Env) History() (*workload.History, error) {
	if e.Closed() {
		return nil, nil //nolint:nilnil // users send when a response has come: no minute has a rate
	}
	return e.source.History()
}
