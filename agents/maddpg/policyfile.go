package maddpg

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "maddpg"

// description is a policy file's JSON.
type description struct {
	// Format is the version of this description: 1.
	Format int `json:"format"`
	// Name labels results: attmf, mf, maddpg, ddpg or iddpg.
	Name string `json:"name"`
	// Single says that one actor sees and controls all agents.
	Single bool `json:"single,omitempty"`
	// Actor is the architecture, as nets.EncodeArch writes it. Its parameters are the array "actor".
	Actor json.RawMessage `json:"actor"`
	// Action says how outputs become actions.
	Action actionCodec `json:"action"`
	// ObservationClip is 0 where observations are not standardised. Else the actor sees (x − "shift")·"scale", clipped
	// to ± this value; both arrays are [agents, width].
	ObservationClip float64 `json:"observation_clip,omitempty"`
}

const (
	format     = 1
	arrayActor = "actor"
	arrayShift = "shift"
	arrayScale = "scale"
)

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	f, err := l.file()
	if err != nil {
		return nil, err
	}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}

// file writes the present actor as a policy file.
func (l *Learner) file() (*agents.PolicyFile, error) {
	f := &agents.PolicyFile{Agent: Name, EnvID: l.ctx.Spec.ID, Arrays: map[string]agents.Array{}}
	arch, err := nets.EncodeArch(l.acting.net.Arch())
	if err != nil {
		return nil, err
	}
	d := description{Format: format, Name: l.c.label(), Single: l.c.Mix == Single, Actor: arch, Action: l.p.actionCodec}
	agents.PutTensor(f.Arrays, arrayActor, l.update.actor.Params())
	if err := l.ctx.Train.Err(); err != nil {
		return nil, fmt.Errorf("maddpg: reading the actor: %w", err)
	}
	if l.std != nil {
		d.ObservationClip = l.c.ObservationClip
		shape := []int{l.p.agents, l.p.obs}
		shift, scale := agents.Array{Shape: shape}, agents.Array{Shape: shape}
		for i := range l.p.agents {
			m, s := l.std.agent(i).Affine()
			shift.Data, scale.Data = append(shift.Data, m...), append(scale.Data, s...)
		}
		f.Arrays[arrayShift], f.Arrays[arrayScale] = shift, scale
	}
	f.Description, err = json.Marshal(d)
	return f, err
}

// OpenPolicy builds a policy from a file, on the engine act. The environment must have the spaces that the policy was
// trained with. Where its weights are shared it acts for any number of agents on any graph; else the environment must
// have the same agents and neighbours.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	p, err := openPolicy(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("maddpg: policy: %w", err)
	}
	return p, nil
}

func openPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*TrainedPolicy, error) {
	var d description
	if err := frozen.Describe(f, Name, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format {
		return nil, fmt.Errorf("description has format %d, want %d", d.Format, format)
	}
	mix := ""
	if d.Single {
		mix = Single
	}
	prob, err := newProblem(mix, spec)
	if err != nil {
		return nil, err
	}
	if !prob.equal(d.Action) {
		return nil, fmt.Errorf("trained for the actions %+v, the environment has %+v", d.Action, prob.actionCodec)
	}
	arch, err := nets.DecodeArch(d.Actor)
	if err != nil {
		return nil, err
	}
	if arch, err = place(arch, d.Single, &prob); err != nil {
		return nil, err
	}
	if err := frozen.Fits(f, arrayActor, arch); err != nil {
		return nil, err
	}
	net, err := act.NewNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, arrayActor, net.Params()); err != nil {
		return nil, err
	}
	t := &TrainedPolicy{
		Policy: frozen.New(f, d.Name, "maddpg: policy", frozen.Sum(f, slices.Sorted(maps.Keys(f.Arrays))...)),
		prob:   prob, clip: float32(d.ObservationClip), hot: make([]float32, prob.actionCodec.width()),
	}
	if d.ObservationClip > 0 {
		for _, a := range []struct {
			name string
			dst  *[]float32
		}{{arrayShift, &t.shift}, {arrayScale, &t.scale}} {
			if *a.dst, err = statistic(f, a.name, arch, prob.agents, prob.obs); err != nil {
				return nil, err
			}
		}
	}
	if t.acting, err = newActing(&t.prob, act, net, 1); err != nil {
		return nil, err
	}
	return t, nil
}
