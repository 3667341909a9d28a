package choices

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Minutes is the length of an episode, Most the largest number of instances.
const (
	Minutes = 60
	Most    = 6
)

// The choices of a minute.
const (
	Fewer = iota
	Same
	More
	Choices
)

// Replicas is a service whose number of instances an agent changes by one a minute, or leaves. A request a minute that
// no instance serves costs 1, an instance 0.2. Beyond 1 and [Most] instances a choice changes nothing.
type Replicas struct {
	spec envs.Spec
	now
}

// now is the state.
type now struct {
	seed      uint64
	minute    int
	instances int
	running   bool
}

// NewReplicas returns the environment.
func NewReplicas() (envs.Env, error) {
	return &Replicas{spec: replicasSpec("example/Replicas-v1")}, nil
}

func replicasSpec(id string) envs.Spec {
	return envs.Spec{
		ID: id, Doc: "Each minute an agent starts an instance, stops one, or neither.",
		Kinds: []envs.Kind{{
			Name: "scaler", Agents: 1,
			Observation: envs.NewBox(2, 0, 10),
			Features:    []string{"instances", "load"}, FeatureUnits: []string{"instances", "requests/minute"},
			Action:  envs.Discrete{N: Choices},
			Actions: []string{"change"}, ActionDocs: []string{"0 stops an instance, 1 leaves them, 2 starts one"},
		}},
		Step: envs.Timing{Unit: "minute", Fixed: 60e6}, MaxSteps: Minutes,
		Info: []envs.Quantity{
			{Name: "lost", Unit: "requests", Better: envs.Lower, Reduce: envs.Sum, Doc: "requests that no instance served"},
			{Name: "instances", Unit: "instances", Better: envs.Lower, Reduce: envs.Mean, Doc: "instances that ran"},
		},
	}
}

// Spec implements [envs.Env].
func (r *Replicas) Spec() *envs.Spec { return &r.spec }

// load is 1 to 6 requests a minute, another number every ten minutes: a draw keyed by what it is for, so that every
// policy faces the same.
func (r *Replicas) load() int {
	return 1 + rng.New(r.seed, "load").With(uint64(r.minute/10)).IntN(Most)
}

// Reset implements [envs.Env].
func (r *Replicas) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 {
		return fmt.Errorf("%s: it has no options", r.spec.ID)
	}
	r.now = now{seed: seed, instances: 1, running: true}
	r.see(obs)
	return nil
}

// see does not touch obs.Kinds[0].Mask, which allows every choice from the start.
func (r *Replicas) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	k.Active[0], k.Values[0], k.Values[1] = true, float32(r.instances), float32(r.load())
}

// Step implements [envs.Env].
func (r *Replicas) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !r.running {
		return errors.New(r.spec.ID + ": step outside an episode, want Reset")
	}
	if err := envs.CheckAction(&r.spec, nil, act); err != nil {
		return err // and nothing has changed
	}
	r.instances = min(max(r.instances+int(act.Kinds[0][0])-Same, 1), Most)
	lost := max(0, r.load()-r.instances)
	r.minute++
	r.running = r.minute < Minutes
	out.Rewards[0][0] = -float32(lost) - float32(0.2*float32(r.instances))
	out.Info[0], out.Info[1] = float64(lost), float64(r.instances)
	out.Terminated, out.Truncated, out.Elapsed = false, !r.running, r.spec.Step.Fixed
	r.see(obs)
	return nil
}

// State implements [state.Stater].
func (r *Replicas) State(c *state.Codec) {
	state.Value(c, &r.now)
	if c.Loaded() {
		c.Check(r.minute >= 0 && r.minute <= Minutes, "minute %d, want 0 to %d", r.minute, Minutes)
		c.Check(r.instances >= 0 && r.instances <= Most, "%d instances, want at most %d", r.instances, Most)
	}
}

// CopyFrom implements [envs.Env].
func (r *Replicas) CopyFrom(src envs.Env) error { return envs.CopyState(r, src) }

// AppendBinary implements [envs.Env].
func (r *Replicas) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, r.spec.ID, r) }

// UnmarshalBinary implements [envs.Env].
func (r *Replicas) UnmarshalBinary(b []byte) error { return state.Load(b, r.spec.ID, r) }
